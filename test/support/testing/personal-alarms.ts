import type { Random } from "../../../kit/random.js";
import { alarm } from "../deliveries.js";

const FIRST_NAMES = ["Åsa", "Björn", "Zoë", "Łukasz", "Мария", "Þórdís", "José", "王小明", "Renée"];
const LAST_NAMES = ["Österlund", "Håkonsen", "Søgaard", "Mäkelä", "O'Brien", "Nuñez", "Žižek"];
const STREETS = ["Ringvägen", "Storgata", "Østergade", "Hämeentie", "Rue de l’Église"];
const EVENT_TYPES = ["email_hacked", "ssn_hacked", "BureauCreditA", "brand_new_kind"];

/** Made-up personal data of one person: every text that may be found in no fixture. */
export function personOf(random: Random): readonly string[] {
  const digits = (count: number) =>
    Array.from({ length: count }, () => String(1 + random.below(8))).join("");
  const first = random.pick(FIRST_NAMES);
  const last = `${random.pick(LAST_NAMES)}-${digits(4)}`;
  const day = `${11 + random.below(17)}${random.pick(["01", "05", "12"])}`;
  return [
    `${first} ${last}`,
    `${first}.${last}@exempel.se`.toLowerCase().replace("'", ""),
    `+467${digits(8)}`,
    // National ids of Sweden, Norway, Denmark and Finland, an IBAN, a card, an address and a password.
    `19${digits(2)}${random.pick(["01", "05", "12"])}${11 + random.below(17)}-${digits(4)}`,
    `${day}${digits(7)}`,
    `${day}${digits(2)}-${digits(4)}`,
    `${day}${digits(2)}A${digits(3)}K`,
    `SE${digits(22)}`,
    digits(16),
    `${random.pick(STREETS)} ${digits(3)}, ${digits(5)} Malmö 🏠`,
    `password-${digits(9)}\n"quoted"\\/`,
    digits(11),
  ];
}

/** An alarm with the person in every place that can hold one, known and unknown. */
export function personalAlarm(random: Random, person: readonly string[]): Record<string, unknown> {
  const datum = () => random.pick(person);
  const nested = (depth: number): unknown => {
    if (depth === 0 || random.chance(4)) {
      const digits = (/[0-9]{9,15}/.exec(datum()) ?? ["123456789"])[0];
      return random.pick([datum(), Number(digits), true, null, `${datum()} / ${datum()}`]);
    }
    if (random.chance(3)) return [nested(depth - 1), datum(), nested(depth - 1)];
    return {
      [datum()]: datum(),
      value: nested(depth - 1),
      matched: { [datum()]: nested(depth - 1), note: datum() },
      born: "1980-01-31",
      ["__proto__"]: { note: datum() },
    };
  };
  const payload = random.pick([
    JSON.stringify(nested(3)),
    JSON.stringify(nested(2), null, 2),
    JSON.stringify(datum()),
    `{"cut off": "${datum()}`,
    datum(),
    "",
  ]);
  const accountId = Number(/[0-9]{9,11}/.exec(person.at(-1) ?? "")?.[0]);
  return alarm({
    id: random.pick([accountId, String(accountId)]),
    account_id: random.pick([accountId, String(accountId)]),
    text: `${datum()} was found with ${datum()}`,
    severity: random.pick(["High", "Low", datum()]),
    status: random.pick(["NEW", datum()]),
    source: random.pick(["BreachDb", datum()]),
    event_type: random.pick([...EVENT_TYPES, datum()]),
    original_event_id: random.pick([datum(), accountId]),
    payload,
    date: random.pick(["2026-07-08 10:00:00", "2026-07-08T10:00:00Z", datum()]),
    ...(random.chance(2)
      ? { [datum()]: nested(2), owner: { name: datum(), tags: [datum()] } }
      : {}),
  });
}

function inAscii(json: string): string {
  return json.replace(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** The alarm as JSON, in one of the manners in which senders write it. */
export function writtenAlarm(random: Random, record: Record<string, unknown>): string {
  const json = JSON.stringify({ alarm: record }, null, random.chance(3) ? 2 : 0);
  if (random.chance(3)) {
    return inAscii(json.replaceAll("/", "\\/"));
  }
  return random.chance(8) ? `\uFEFF${json}` : json;
}
