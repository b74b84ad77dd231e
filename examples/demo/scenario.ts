import { randomUUID } from "node:crypto";
import type { Fixture } from "./fixtures.js";
import { send, sign, type Answer } from "./gateway.js";
import { createLedger, isAsExpected, type Ledger, type Miscount, type Row } from "./ledger.js";
import { header, replay } from "./replay.js";
import type { DemoServer } from "./server.js";

/** Rows under a heading. */
export interface Section {
  readonly title: string;
  readonly rows: readonly Row[];
}

/** What came of the scenario. */
export interface Result {
  readonly sections: readonly Section[];
  readonly miscounts: readonly Miscount[];
}

/** How many answers and run counts are not the expected ones. */
export function countDifferences({ sections, miscounts }: Result): number {
  const rows = sections.flatMap((section) => section.rows);
  return rows.filter((row) => !isAsExpected(row)).length + miscounts.length;
}

/** The heading that a fixture comes under: the first whose pattern its name fits. */
const HEADINGS: readonly (readonly [title: string, names: RegExp])[] = [
  ["Alarms from breach databases", /^alarm-.*-hacked$/],
  ["Alarms from bureaus", /^alarm-bureau-/],
  ["Online Data events", /^event-(data|deletion|personal|power|user)-/],
  ["Genuine, but unusual", /^(?!hostile\/)/],
  ["Hostile or broken", /^hostile\//],
];

/**
 * Delivers every fixture, made anew for now, and then `genuine` more than once in several ways.
 * `genuine` is also what the hostile ones are altered from.
 */
export async function playScenario(
  fixtures: readonly Fixture[],
  genuine: Fixture,
  server: DemoServer,
): Promise<Result> {
  const ledger = createLedger();
  const sections: Section[] = [];
  for (const [title] of HEADINGS) {
    const rows: Row[] = [];
    for (const fixture of fixtures.filter(({ name }) => headingOf(name) === title)) {
      const { id, done, delivery } = await replay(fixture, genuine);
      const actual = await send(server.url, delivery);
      const row = { delivery: fixture.description, done, expected: fixture.expect, actual };
      rows.push(ledger.enter(id, row));
    }
    if (rows.length > 0) sections.push({ title, rows });
  }
  const rows = await playCopies(genuine, server, ledger);
  sections.push({ title: "Sent more than once, handled once", rows });
  return { sections, miscounts: ledger.miscounts(server.runs) };
}

function headingOf(name: string): string | undefined {
  return HEADINGS.find(([, names]) => names.test(name))?.[0];
}

/** Copies of a delivery: after it was handled, while it is handled, and after its handler failed. */
async function playCopies(genuine: Fixture, server: DemoServer, ledger: Ledger): Promise<Row[]> {
  const rows: Row[] = [];
  // An attempt keeps the id, and is signed anew for the time when it is made.
  const attempt = async (id: string): Promise<Row["actual"]> => {
    const type = header(genuine, "X-Webhook-Type");
    return send(server.url, await sign({ type, id, body: genuine.body }));
  };
  const recordAs = (delivery: string, id: string) => {
    return (done: string, expected: Answer, actual: Row["actual"]): void => {
      rows.push(ledger.enter(id, { delivery, done, expected, actual }));
    };
  };

  const repeated = randomUUID();
  let record = recordAs("Alarm delivered twice", repeated);
  record("signed and sent", HANDLED, await attempt(repeated));
  record("sent again", DUPLICATE, await attempt(repeated));

  const concurrent = randomUUID();
  record = recordAs("Two copies at the same time", concurrent);
  const release = server.hold(concurrent);
  const copies = [attempt(concurrent), attempt(concurrent)] as const;
  // The handler holds one of them, so the first answer is that to the other.
  await Promise.race(copies);
  release();
  const [one, other] = await Promise.all(copies);
  const [first, second] = one.status <= other.status ? [one, other] : [other, one];
  record("one of them", HANDLED, first);
  record("the other", IN_FLIGHT, second);
  record("sent again afterwards", DUPLICATE, await attempt(concurrent));

  const failing = randomUUID();
  record = recordAs("Alarm whose handler fails once", failing);
  server.failOnce(failing);
  record("signed and sent", HANDLER_FAILED, await attempt(failing));
  record("sent again by the gateway", HANDLED, await attempt(failing));
  record("sent once more", DUPLICATE, await attempt(failing));
  return rows;
}

const HANDLED: Answer = { status: 200, outcome: "handled" };
const DUPLICATE: Answer = { status: 200, outcome: "duplicate" };
const IN_FLIGHT: Answer = { status: 409, outcome: "in_flight" };
const HANDLER_FAILED: Answer = { status: 500, outcome: "handler_failed" };
