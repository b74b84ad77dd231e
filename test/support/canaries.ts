import { inspect } from "node:util";
import { alarm, onlineDataEvent } from "./deliveries.js";

/** Synthetic values that may appear only in the arguments of a handler. */
export const CANARIES = {
  nationalId: "19000101-9988",
  email: "canary.person@mail.example",
  iban: "SE00CANARY0000000000IBAN",
  phone: "+46700009988",
  secret: "whsec_canary_secret_9988",
  oldSecret: "whsec_canary_old_secret_9988",
  authorization: "Bearer canary-token-9988",
  cookie: "session=canary-cookie-9988",
  accountId: 998_877_665_544,
  unsignedId: "canary-unsigned-id",
  unsignedType: "canary_unsigned_type",
} as const;

const FORBIDDEN = Object.values(CANARIES).map(String);

/** An alarm with a canary in every field that can hold one, and in an unknown field. */
export function canaryAlarm(overrides: Record<string, unknown> = {}) {
  const { nationalId, email, iban, phone, accountId } = CANARIES;
  return alarm({
    account_id: accountId,
    text: `${nationalId} was found with ${email}`,
    original_event_id: iban,
    payload: JSON.stringify({ ssn: nationalId, email, [phone]: iban }),
    [email]: nationalId,
    ...overrides,
  });
}

/** An Online Data event with canaries. */
export function canaryEvent(type: string, overrides: Record<string, unknown> = {}) {
  const { nationalId, email, iban, accountId } = CANARIES;
  return onlineDataEvent(type, {
    account_id: accountId,
    client_id: nationalId,
    site_name: email,
    site_base_url: `https://broker.example/${iban}`,
    ...overrides,
  });
}

/** All text that values give away: their JSON, and what a console or a debugger shows. */
export function shownOf(...values: readonly unknown[]): string {
  return values
    .flatMap((value) => [
      typeof value === "string" ? value : JSON.stringify(value),
      value instanceof Error ? `${String(value)} ${value.stack ?? ""}` : "",
      inspect(value, { depth: 20, showHidden: true, getters: true, maxStringLength: null }),
    ])
    .join("\n");
}

/** The canaries in a text, in any letter case. `more` are canaries that the test makes as it runs. */
export function canariesIn(text: string, more: readonly string[] = []): string[] {
  const lower = text.toLowerCase();
  return [...FORBIDDEN, ...more].filter((canary) => lower.includes(canary.toLowerCase()));
}
