import { readFile, readdir } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createWebhookReceiver, memoryStore } from "../../src/index.js";
import { loadFixtures } from "../../kit/fixtures/load-fixtures.js";
import { createRandom } from "../../kit/random.js";
import type { FixtureRefusal } from "../../kit/recorder/fixture-refusal.js";
import { recordFixtures } from "../../kit/recorder/record-fixtures.js";
import { replayFixtures } from "../../kit/fixtures/replay-fixtures.js";
import { NOW_SECONDS, delivery } from "../support/deliveries.js";
import {
  disguisesOf,
  personOf,
  personalAlarm,
  writtenAlarm,
} from "../support/testing/personal-alarms.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { recordingReceiver } from "../support/recording-receiver.js";

const COUNT = 1_000;
const SECRET = "whsec_of_the_partner_5521";

/** The id and the signature of a fixture: a UUID and a hash. */
const MADE_UP = /"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"|"v1=[0-9a-f]{64}"/g;

const GRAM = 6;

/** The parts that a text contains in any letter case. Compares six characters first: there are millions of searches. */
function partsFoundIn(text: string, parts: Iterable<string>): string[] {
  const lower = text.toLowerCase();
  const grams = new Set<string>();
  for (let at = 0; at < lower.length; at++) grams.add(lower.slice(at, at + GRAM));
  return [...parts].filter((part) => {
    const sought = part.toLowerCase();
    if (sought.length < GRAM) throw new Error("a part is too short to be looked for");
    return grams.has(sought.slice(0, GRAM)) && lower.includes(sought);
  });
}

/** Records a thousand deliveries: most are handled, some are stale, broken, mistyped, failed or repeated. */
async function recordThousand(directory: string) {
  const random = createRandom(1_000);
  const refusals: FixtureRefusal[] = [];
  const recorder = recordFixtures({
    directory,
    // Also with some unknown keys that stay.
    redact: {
      keepKeys: [
        "alarm.owner.name",
        "alarm.owner.tags",
        "alarm.payload.born",
        "alarm.payload.value.value.matched.note",
        "alarm.payload.matched.note",
        "alarm.payload.0",
      ],
    },
    onRefused: (refusal) => refusals.push(refusal),
  });
  const outcomes: string[] = [];
  let nowMs = NOW_SECONDS * 1000;
  let isFailing = false;
  const receiver = createWebhookReceiver({
    secret: SECRET,
    handlers: {
      new_alarm: () => {
        if (isFailing) throw new Error("the handler fails");
      },
    },
    logger: false,
    now: () => nowMs,
    onAuthenticDelivery: recorder,
  });
  const data = new Set<string>([SECRET]);
  const receive = async (request: Awaited<ReturnType<typeof delivery>>) => {
    outcomes.push((await receiver.receive(request)).outcome);
    nowMs += 1_000;
  };
  for (let made = 0; made < COUNT; made++) {
    const person = personOf(random);
    for (const datum of person) data.add(datum);
    const id = `delivery-${String(made)}-of-${person.at(-1) ?? ""}`;
    data.add(id);
    const record = personalAlarm(random, person);
    const request = await delivery({
      id,
      secret: SECRET,
      timestamp: Math.floor(nowMs / 1000) - (random.chance(20) ? 400 : random.below(200)),
      type: random.chance(30) ? random.pick(["delete_my_data_event", "of_Anna_5521"]) : "new_alarm",
      body: random.chance(20)
        ? random.pick([
            person.join(" "),
            Buffer.from(`\xff${person.join(" ")}`, "latin1"),
            JSON.stringify({ alarm: { ...record, date: undefined } }),
            JSON.stringify([person]),
          ])
        : writtenAlarm(random, record),
    });
    isFailing = random.chance(20);
    await receive(request);
    isFailing = false;
    if (random.chance(10)) await receive(request);
  }
  data.add("of_Anna_5521");
  await recorder.flush();
  return { outcomes, refusals, data };
}

describe("a thousand recorded alarms full of personal data", () => {
  const folder = temporaryFolder(afterAll);
  let recorded: Awaited<ReturnType<typeof recordThousand>>;
  let files: string[];

  beforeAll(async () => {
    recorded = await recordThousand(folder.at());
    const names = (await readdir(folder.at())).sort();
    files = await Promise.all(names.map((name) => readFile(folder.at(name), "utf8")));
  });

  test("a thousand recorded alarms are all written, with every outcome", () => {
    expect(recorded.refusals).toEqual([]);
    expect(files).toHaveLength(recorded.outcomes.length);
    expect(files.length).toBeGreaterThan(COUNT);
    expect([...new Set(recorded.outcomes)].sort()).toEqual([
      "duplicate",
      "handled",
      "handler_failed",
      "stale",
      "type_mismatch",
      "unrecognized",
    ]);
  });

  test("a thousand recorded alarms contain no personal data in any disguise", () => {
    // Removed because they are random: in one of many runs they contain a person's digits.
    const all = files.join("\n").replace(MADE_UP, '""');
    const bodies = files.map((file) => {
      const { body = "", bodyBase64 = "" } = JSON.parse(file) as Record<string, string>;
      return body + Buffer.from(bodyBase64, "base64").toString("latin1");
    });
    const disguises = new Set([...recorded.data].flatMap(disguisesOf));
    expect(disguises.size).toBeGreaterThan(50_000);
    expect(partsFoundIn(`${all}\n${bodies.join("\n")}`, disguises)).toEqual([]);
  });

  test("the search for personal data finds it if it is there", () => {
    const [datum = ""] = [...recorded.data].slice(1);
    const hidden = JSON.stringify({ payload: JSON.stringify({ name: datum }) });
    expect(partsFoundIn(hidden.toUpperCase(), disguisesOf(datum))).not.toEqual([]);
  });

  test("a thousand recorded alarms replay with the same outcomes in the same order", async () => {
    const fixtures = await loadFixtures(folder.at());
    let nowMs = 0;
    const { receiver } = recordingReceiver({ now: () => nowMs, store: memoryStore() });
    const report = await replayFixtures(receiver, fixtures, {
      beforeEach: ({ receivedAt }) => {
        nowMs = receivedAt.getTime();
      },
    });
    expect(report.different).toBe(0);
    // The handler's work is not in the fixture: its failures are described and not judged.
    const failed = recorded.outcomes.filter((outcome) => outcome === "handler_failed").length;
    const repeated = recorded.outcomes.filter((outcome) => outcome === "duplicate").length;
    expect(report.notJudged).toBe(failed + repeated);
    expect(report.results.map(({ outcome }) => outcome)).toEqual(
      recorded.outcomes.map((outcome) => (outcome === "handler_failed" ? "handled" : outcome)),
    );
  });
});
