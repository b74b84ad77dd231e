import { readFile, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test, vi } from "vitest";
import {
  ConfigurationError,
  createWebhookReceiver,
  verifySignature,
  type Alarm,
  type AuthenticDelivery,
  type WebhookReceiverOptions,
} from "../../src/index.js";
import { loadFixtures } from "../../kit/fixtures/load-fixtures.js";
import { replayFixtures } from "../../kit/fixtures/replay-fixtures.js";
import { createRandom } from "../../kit/random.js";
import { createFixtureFolder, type LinkFile } from "../../kit/recorder/fixture-folder.js";
import { type FixtureRefusal, refusalSentence } from "../../kit/recorder/fixture-refusal.js";
import { recordFixtures, type RecordFixturesOptions } from "../../kit/recorder/record-fixtures.js";
import { createRecordingQueue } from "../../kit/recorder/record-fixtures.js";
import { deferred } from "../support/deferred.js";
import {
  alarmBody,
  delivery,
  eventDelivery,
  NOW_MS,
  NOW_SECONDS,
  TEST_SECRET,
  type DeliveryOverrides,
} from "../support/deliveries.js";
import { throwing } from "../support/faults.js";
import { recordingReceiver } from "../support/recording-receiver.js";
import { personOf, personalAlarm, writtenAlarm } from "../support/testing/personal-alarms.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const parent = temporaryFolder();
let directory: string;

beforeEach(() => {
  directory = parent.at("made", "when needed");
});

/** The secret of a partner whose deliveries are recorded. */
const PARTNERS_SECRET = "whsec_of_the_partner";

/** Makes a receiver for alarms whose deliveries are recorded. */
function recordedReceiver(
  options: RecordFixturesOptions = { directory },
  receiverOptions: Partial<WebhookReceiverOptions> = {},
) {
  const refusals: FixtureRefusal[] = [];
  const files: string[] = [];
  const recorder = recordFixtures({
    onRefused: (refusal) => refusals.push(refusal),
    onRecorded: (file) => files.push(file),
    ...options,
  });
  const receiver = createWebhookReceiver({
    secret: PARTNERS_SECRET,
    handlers: { new_alarm: () => undefined },
    logger: false,
    now: () => NOW_MS,
    onAuthenticDelivery: recorder,
    ...receiverOptions,
  } as WebhookReceiverOptions);
  return { recorder, receiver, refusals, files };
}

/** A delivery to the partner, by default of the alarm. */
const partnersDelivery = (overrides: DeliveryOverrides = {}) =>
  delivery({ secret: PARTNERS_SECRET, ...overrides });
/** What a receiver shows of a delivery to the recorder. */
const observed = async (overrides: DeliveryOverrides = {}): Promise<AuthenticDelivery> => ({
  request: await partnersDelivery(overrides),
  id: "a",
  type: "new_alarm",
  receivedAt: new Date(NOW_MS),
  outcome: "handled",
  status: 200,
});
const bodyOf = (fields: Record<string, unknown>) => alarmBody(fields);

test("recordFixtures writes an authentic delivery as a fixture signed with the test secret", async () => {
  const { recorder, receiver, files, refusals } = recordedReceiver();
  const { headers, body } = await partnersDelivery();
  const more = { ...headers, authorization: "Bearer 1", cookie: "a=b", "x-forwarded-for": "1.2" };
  await receiver.receive({ headers: more, body });
  await recorder.flush();

  expect(refusals).toEqual([]);
  expect(files).toEqual([join(directory, "000001-alarm-email-hacked.json")]);
  const [fixture] = await loadFixtures(directory);
  expect(fixture).toMatchObject({
    description: "Recorded email_hacked, answered handled 200",
    receivedAt: new Date(NOW_MS),
    expect: { outcome: "handled", status: 200 },
  });
  const webhook = ["Type", "Id", "Timestamp", "Signature"].map((name) => `X-Webhook-${name}`);
  expect(Object.keys(fixture?.headers ?? {})).toEqual(["Content-Type", ...webhook]);
  expect(fixture?.headers["X-Webhook-Id"]).not.toBe(headers["x-webhook-id"]);
  expect(fixture?.headers["X-Webhook-Timestamp"]).toBe(String(NOW_SECONDS));
  const request = { headers: fixture?.headers ?? {}, body: fixture?.body ?? "" };
  expect(await verifySignature({ secret: TEST_SECRET, ...request })).toBe(true);
  expect(await verifySignature({ secret: PARTNERS_SECRET, ...request })).toBe(false);
});

test("recordFixtures gives equal values equal placeholders, and different ones different ones", async () => {
  const { recorder, receiver } = recordedReceiver();
  for (const [at, id] of [1001, 1002, 1003, 1001, 2_000_000_001, 2_000_000_002].entries()) {
    const original_event_id = `brdb-${String(id).slice(-1)}`;
    const body = bodyOf({ id, account_id: 4242, original_event_id });
    await receiver.receive(await partnersDelivery({ id: `id-${at}`, body }));
  }
  await recorder.flush();
  const recorded = (await loadFixtures(directory)).map(
    ({ body }) => (JSON.parse(Buffer.from(body).toString()) as { alarm: Alarm }).alarm,
  );
  expect(recorded.map(({ id }) => id)).toEqual([
    9999, 9997, 9996, 9999, 2_147_483_647, 2_147_483_646,
  ]);
  expect(recorded.map(({ account_id }) => account_id)).toEqual(Array(6).fill(9998));
  const ends = recorded.map(({ original_event_id }) => original_event_id.replace("xxxxx", ""));
  expect(ends).toEqual(["x", "a", "b", "x", "x", "a"]);
});

test("recordFixtures names files after documented values, in the order of the answers", async () => {
  const { recorder, receiver, files } = recordedReceiver();
  for (const request of [
    partnersDelivery({ id: "a", body: bodyOf({ event_type: "BureauCreditAEnquiry" }) }),
    eventDelivery("DATA_DELETED", { id: "b", secret: PARTNERS_SECRET }),
    partnersDelivery({ id: "c", type: "from_Anna", body: "{}" }),
    partnersDelivery({ id: "d", body: bodyOf({ event_type: "of_Anna" }) }),
    partnersDelivery({ id: "e", body: "Anna" }),
  ]) {
    await receiver.receive(await request);
  }
  await recorder.flush();
  expect(files.map((file) => file.slice(directory.length + 1))).toEqual([
    "000001-alarm-bureau-credit-a-enquiry.json",
    "000002-event-data-deleted.json",
    "000003-unknown-type.json",
    "000004-alarm.json",
    "000005-alarm.json",
  ]);
  const fixtures = await loadFixtures(directory);
  expect(fixtures[2]?.headers["X-Webhook-Type"]).toBe("unknown_type");
  expect(fixtures[1]?.description).toContain("on its own it is handled, so nothing is expected");
  expect(fixtures[1]?.expect).toBeUndefined();
  expect(fixtures[4]?.expect).toEqual({ outcome: "unrecognized", status: 503 });
});

/** The outcomes of sixty deliveries full of personal data, and the data. Some are stale, mistyped, broken, failed or repeated. */
async function recordPeople() {
  const random = createRandom(1_000);
  let isFailing = false;
  const new_alarm = () => {
    if (isFailing) throw new Error("the handler fails");
  };
  const keepKeys = ["alarm.owner.name", "alarm.payload.born", "alarm.payload.0"];
  const options = { directory, redact: { keepKeys } };
  const { recorder, receiver } = recordedReceiver(options, { handlers: { new_alarm } });
  const outcomes: string[] = [];
  const data: string[] = [];
  for (let made = 0; made < 60; made++) {
    const person = personOf(random);
    data.push(...person);
    const all = person.join(" ");
    const broken = [all, Buffer.from(`\xff${all}`, "latin1"), JSON.stringify([person])];
    const isOf = (kind: number) => made % 6 === kind;
    const request = await partnersDelivery({
      id: `delivery-${String(made)}`,
      timestamp: isOf(1) ? NOW_SECONDS - 400 : NOW_SECONDS,
      type: isOf(2) ? "delete_my_data_event" : "new_alarm",
      body: isOf(3) ? random.pick(broken) : writtenAlarm(random, personalAlarm(random, person)),
    });
    isFailing = isOf(4);
    for (let sent = 0; sent < (isOf(5) ? 2 : 1); sent++) {
      outcomes.push((await receiver.receive(request)).outcome);
    }
  }
  await recorder.flush();
  return { outcomes, data };
}

test("recorded deliveries hold nothing of a person, and replay with the same outcomes in the same order", async () => {
  const { outcomes, data } = await recordPeople();
  const kinds = [
    "handled",
    "stale",
    "type_mismatch",
    "unrecognized",
    "handler_failed",
    "duplicate",
  ];
  expect(new Set(outcomes)).toEqual(new Set(kinds));
  const fixtures = await loadFixtures(directory);
  const recorded = fixtures.map(
    ({ description, body }) => description + Buffer.from(body).toString(),
  );
  const parts = data.join(" ").match(/[0-9A-Za-z]{4,}/g) ?? [];
  expect(parts.length).toBeGreaterThan(1_000);
  expect(parts.filter((part) => recorded.join().includes(part))).toEqual([]);
  const { receiver } = recordingReceiver();
  const { different, results } = await replayFixtures(receiver, fixtures);
  expect(different).toBe(0);
  // The handler's work is not in a fixture.
  const replayed = outcomes.map((one) => (one === "handler_failed" ? "handled" : one));
  expect(results.map(({ outcome }) => outcome)).toEqual(replayed);
});

test("recordFixtures copies the body before it returns, so that the buffer can be reused", async () => {
  const { recorder, receiver } = recordedReceiver();
  const bytes = Buffer.from(bodyOf({ text: "four" }));
  await receiver.receive(await partnersDelivery({ body: bytes }));
  bytes.fill(0x20);
  await recorder.flush();
  const [fixture] = await loadFixtures(directory);
  expect(Buffer.from(fixture?.body ?? []).toString()).toContain('"text":"xxxx"');
});

test("recordFixtures gives failed attempts other ids than the handled one", async () => {
  let isFailing = true;
  const handlers = {
    new_alarm: () => {
      if (isFailing) throw new Error("not yet");
    },
  };
  const { recorder, receiver } = recordedReceiver({ directory }, { handlers });
  const request = await partnersDelivery();
  await receiver.receive(request);
  isFailing = false;
  await receiver.receive(request);
  await receiver.receive(request);
  await recordedReceiver({ directory }, { onAuthenticDelivery: recorder }).receiver.receive(
    request,
  );
  await recorder.flush();
  const fixtures = await loadFixtures(directory);
  const [failed, handled, duplicate, elsewhere] = fixtures.map(({ headers }) =>
    String(headers["X-Webhook-Id"]),
  );
  expect(duplicate).toBe(handled);
  expect(new Set([failed, handled, elsewhere]).size).toBe(3);
  expect(fixtures.map(({ expect: expected }) => expected?.outcome)).toEqual([
    undefined,
    "handled",
    undefined,
    "handled",
  ]);
});

test("recordFixtures signs unsigned deliveries and leaves out an undocumented content type", async () => {
  const unsigned = { secret: undefined, acceptUnsignedDeliveries: true } as const;
  const { recorder, receiver } = recordedReceiver({ directory }, unsigned);
  const { headers, body } = await partnersDelivery();
  const bare = { ...headers, "x-webhook-signature": undefined, "content-type": "text/anna" };
  await receiver.receive({ headers: bare, body });
  await receiver.receive({ headers: new Headers({ ...headers, "x-webhook-id": "b" }), body });
  await recorder.flush();
  const [first, second] = await loadFixtures(directory);
  expect(first?.headers).not.toHaveProperty("Content-Type");
  expect(first?.expect).toEqual({ outcome: "handled", status: 200 });
  expect(second?.headers["Content-Type"]).toBe("application/json");
});

test("the recorder warns once per reason on the console by default, and quotes nothing from the body", async () => {
  const warn = vi.spyOn(console, "warn").mockReturnValue();
  const { recorder, receiver } = recordedReceiver({
    directory: parent.write("file", ""),
    onRefused: undefined,
  });
  const body = bodyOf({ text: "anna@exempel.se" });
  await receiver.receive(await partnersDelivery({ id: "a", body }));
  await receiver.receive(await partnersDelivery({ id: "b", body }));
  await recorder.flush();
  expect(warn).toHaveBeenCalledTimes(1);
  expect(String(warn.mock.calls)).not.toContain("exempel");
  expect(warn.mock.calls[0]?.[0]).toMatch(
    /could not be written: EEXIST\. Each reason is written once/,
  );
});

test("a folder that cannot be written to does not change the receiver's answer", async () => {
  const { recorder, receiver, refusals } = recordedReceiver({
    directory: parent.write("file", ""),
    onRefused: (refusal) => {
      refusals.push(refusal);
      throw new Error("the partner's hook");
    },
  });
  expect((await receiver.receive(await partnersDelivery())).outcome).toBe("handled");
  await recorder.flush();
  expect(refusals).toMatchObject([
    { type: "new_alarm", reason: "write_failed", error: { code: "EEXIST" } },
  ]);
});

test("the recorder refuses deliveries while its queue is full and accepts new ones afterwards", async () => {
  const { recorder, refusals } = recordedReceiver({ directory: parent.write("file", "") });
  // The recorder drops the long element, so that such a body is quick to write.
  const list = [...Array<number>(1_000).fill(0), "x".repeat(33_554_432 - 2_004)];
  const half = await observed({ body: JSON.stringify(list) });
  for (const one of [half, half, await observed({ body: " " })]) recorder(one);
  await recorder.flush();
  recorder(await observed());
  await recorder.flush();
  const reasons = refusals.map(({ reason }) => reason);
  expect(reasons).toEqual(["overloaded", "write_failed", "write_failed", "write_failed"]);
});

test.each([
  ["an invalid date", { receivedAt: new Date(Number.NaN) }],
  ["a date after the year 9999", { receivedAt: new Date(8_640_000_000_000_000) }],
  ["headers that were removed", { request: { headers: {}, body: "{}" } }],
  ["headers that throw", { request: { headers: { get: throwing(new Error("Anna")) }, body: "" } }],
])("the recorder refuses %s and does not throw", async (_, change) => {
  const { recorder, refusals } = recordedReceiver();
  recorder({ ...(await observed()), type: "of_Anna", ...change });
  await recorder.flush();
  expect(refusals).toEqual([{ type: "unknown_type", reason: "unreadable" }]);
});

test.each([
  [{}],
  [{ directory: "" }],
  [{ directory: "a", folder: "b" }],
  [{ directory: "a", onRefused: "log" }],
  [{ directory: "a", onRecorded: 1 }],
  [{ directory: "a", secret: "" }],
  [{ directory: "a", redact: { allow: [] } }],
  [null],
])("recordFixtures refuses the options %j", (options) => {
  const given = options as unknown as Parameters<typeof recordFixtures>[0];
  expect(() => recordFixtures(given)).toThrow(ConfigurationError);
});

test.each<[object, string]>([
  [{ reason: "write_failed", error: { code: "ENOSPC" } }, "its file could not be written: ENOSPC"],
  [{ reason: "write_failed", error: null }, "its file could not be written: unknown error"],
  [{ reason: "overloaded" }, "too many deliveries wait to be written"],
  [{ reason: "unreadable" }, "its headers or its time cannot be read"],
  [{ reason: "internal_error" }, "the recorder failed"],
])("refusalSentence describes each reason: %#", (refusal, sentence) => {
  expect(refusalSentence({ type: "new_alarm", ...refusal } as FixtureRefusal)).toBe(sentence);
});

/** Throws as a FAT drive does, which has no hard links. */
const noLinks: LinkFile = () =>
  Promise.reject(Object.assign(new Error("not permitted"), { code: "EPERM" }));

const textOf = (name: string): Promise<string> => readFile(join(directory, name), "utf8");

describe.each([
  ["with links", undefined],
  ["without links", noLinks],
])("fixture folder %s", (_, linkFile) => {
  beforeEach(() => {
    directory = parent.at();
  });

  test("a fixture folder overwrites nothing and continues after the highest number", async () => {
    parent.write("000007-a.json", "mine");
    parent.write("notes.txt", "mine");
    const folder = createFixtureFolder(directory, linkFile);
    expect(await folder.add("a", "new")).toBe(join(directory, "000008-a.json"));
    // Another process has taken the next name in the meantime.
    parent.write("000009-a.json", "theirs");
    expect(await folder.add("a", "newer")).toBe(join(directory, "000010-a.json"));
    expect(await textOf("000007-a.json")).toBe("mine");
    expect(await textOf("000009-a.json")).toBe("theirs");
    expect(await readdir(directory)).toHaveLength(5);
  });

  test("a fixture folder shared by several writers keeps every text once and shows only complete files", async () => {
    const text = (writer: number, index: number) =>
      JSON.stringify({ writer, index, filling: "x".repeat(50_000) });
    let isWriting = true;
    let looks = 0;
    const watch = async (): Promise<void> => {
      while (isWriting) {
        for (const name of (await readdir(directory)).filter((file) => file.endsWith(".json"))) {
          expect(JSON.parse(await textOf(name))).toHaveProperty("writer");
          looks += 1;
        }
      }
    };
    const watching = watch();
    await Promise.all(
      Array.from({ length: 4 }, async (_, writer) => {
        const folder = createFixtureFolder(directory, linkFile);
        for (let index = 0; index < 10; index++) await folder.add("a", text(writer, index));
      }),
    );
    isWriting = false;
    await watching;
    expect(looks).toBeGreaterThan(0);
    const names = await readdir(directory);
    const texts = await Promise.all(names.map(textOf));
    expect(names.every((name) => /^[0-9]{6}-a\.json$/.test(name))).toBe(true);
    expect(new Set(texts).size).toBe(40);
  });
});

test("a fixture folder that is removed during the lock ends with ENOENT instead of waiting", async () => {
  const linkFile: LinkFile = async (...paths) => {
    await rm(directory, { recursive: true });
    return noLinks(...paths);
  };
  const folder = createFixtureFolder(directory, linkFile);
  await expect(folder.add("a", "text")).rejects.toMatchObject({ code: "ENOENT" });
});

test("the recording queue runs one job at a time and refuses jobs above each limit", async () => {
  const queue = createRecordingQueue({ maxJobs: 2, maxBytes: 10 });
  const gate = deferred();
  const done: string[] = [];
  const job = (name: string) => async () => {
    await gate.promise;
    done.push(name);
  };
  expect(queue.add(50, job("larger than all room"))).toBe(true);
  expect(queue.add(1, job("no room"))).toBe(false);
  gate.resolve();
  await queue.flush();
  expect(queue.add(6, job("a"))).toBe(true);
  expect(queue.add(5, job("too many bytes"))).toBe(false);
  expect(queue.add(4, job("b"))).toBe(true);
  expect(queue.add(0, job("too many jobs"))).toBe(false);
  await queue.flush();
  expect(done).toEqual(["larger than all room", "a", "b"]);
});
