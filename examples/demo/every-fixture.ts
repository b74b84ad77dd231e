import { verifySignature } from "identity-gateway-webhooks";
import { replayFixtures, TEST_SECRET, type Fixture } from "identity-gateway-webhooks/testing";
import type { Ledger } from "./ledger.js";
import type { Row, Section } from "./row.js";

/** The headings of the fixtures. A fixture belongs to the first pattern that its name matches. */
const HEADINGS: readonly (readonly [title: string, names: RegExp])[] = [
  ["Alarms from breach databases", /^alarm-.*-hacked$/],
  ["Alarms from bureaus", /^alarm-bureau-/],
  ["Online Data events", /^event-(data|deletion|personal|power|user)-/],
  ["Genuine, but unusual", /^(?!hostile\/)/],
  ["Hostile or broken", /^hostile\//],
];

/** Sends every fixture to the server. Those with a good signature are signed again. */
export async function sendEveryFixture(
  url: string,
  fixtures: readonly Fixture[],
  ledger: Ledger,
): Promise<readonly Section[]> {
  const sections: Section[] = [];
  for (const [title] of HEADINGS) {
    const rows: Row[] = [];
    let id = "";
    let done = "";
    const own = fixtures.filter(({ name }) => headingOf(name) === title);
    await replayFixtures(url, own, {
      secret: TEST_SECRET,
      resign: true,
      async beforeEach({ headers, body }) {
        const isSigned = await verifySignature({ secret: TEST_SECRET, headers, body });
        id = idIn(headers);
        done = isSigned ? "signed and sent" : "sent as it was recorded";
      },
      onResult(result) {
        const { description: delivery, expected, outcome } = result;
        ledger.enter(id, delivery, expected?.outcome ?? outcome);
        rows.push({ ...result, delivery, done, requests: 1 });
      },
    });
    if (rows.length > 0) sections.push({ title, rows });
  }
  return sections;
}

function headingOf(name: string): string | undefined {
  return HEADINGS.find(([, names]) => names.test(name))?.[0];
}

function idIn(headers: Fixture["headers"]): string {
  return String(
    Object.entries(headers).find(([name]) => name.toLowerCase() === "x-webhook-id")?.[1],
  );
}
