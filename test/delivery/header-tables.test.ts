import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  claimedType,
  hasDeliveryMark,
  headerFaults,
  signatureFault,
} from "../../src/delivery/header-faults.js";
import {
  HEADER_ROWS,
  headerText,
  headersOf,
  lowerCaseHeaders,
  namedHeaders,
  readDeliveryHeaders,
  readSignedHeaders,
  trimmed,
  valuesOf,
  type WebhookHeaders,
} from "../../src/delivery/header-values.js";
import {
  isListedId,
  listedId,
  recoveredDelivery,
  recoveredRecord,
} from "../../src/delivery/recovered-delivery.js";
import { throwing } from "../support/faults.js";

const SIGNATURE = `v1=${"0a".repeat(32)}`;
const GOOD = { id: "a-1", timestamp: "1760000000", type: "new_alarm", signature: SIGNATURE };
const READ = { ...GOOD, timestampMs: 1_760_000_000_000 };
const NAMED = namedHeaders(GOOD);
const LOWER = lowerCaseHeaders(GOOD);
const THROWING = { get: throwing(new Error("no headers today")) };
const LISTED = listedId("0123456789abcdef".repeat(4));
const SECOND = () => 1_760_000_000_999;

test("the headers have the order, the names and the lower-case names of the table", () => {
  expect(HEADER_ROWS.map(([key]) => key)).toEqual(["id", "timestamp", "type", "signature"]);
  const names = ["X-Webhook-Id", "X-Webhook-Timestamp", "X-Webhook-Type", "X-Webhook-Signature"];
  expect(Object.keys(NAMED)).toEqual(names);
  expect(Object.keys(LOWER)).toEqual(names.map((name) => name.toLowerCase()));
  expect(Object.values(LOWER)).toEqual(Object.values(GOOD));
});

/** What the headers must be, from the list of all values of each name and nothing else. */
function expectedOf(lines: readonly (readonly [string, unknown])[]): object | undefined {
  const found: Record<string, string | undefined> = {};
  for (const [key, { name, fits, isList }] of HEADER_ROWS) {
    const given = lines.filter(([line]) => line.toLowerCase() === name.toLowerCase());
    const all = given.flatMap(([, value]) => value).filter((value) => value !== undefined);
    if (!all.every((value) => typeof value === "string")) return undefined;
    if (all.length > 1 && isList !== true) return undefined;
    const text = all.length === 0 ? undefined : all.map(trimmed).join(", ");
    if (key !== "signature" && !fits(text)) return undefined;
    found[key] = text;
  }
  return { ...found, timestampMs: Number(found["timestamp"]) * 1_000 };
}

test("as a property, headers in any letter case, number and form are read by their table alone", () => {
  const inAnyCase = (text: string) =>
    fc.constantFrom(text, text.toLowerCase(), text.toUpperCase(), text.replace("X-W", "x-W"));
  const texts = (text: string) =>
    fc.constantFrom<unknown>(text, ` ${text}\t`, [text], [], [text, text], undefined, 7, [7]);
  const others = fc.constantFrom("x-request-id", "X-Webhook", "host", "get", "x-webhook-ids");
  const line = fc.oneof(
    ...Object.entries(NAMED).map(([name, text]) => fc.tuple(inAnyCase(name), texts(text))),
    fc.tuple(others, fc.constantFrom<unknown>("a", ["b", "c"], null)),
  );
  const usual = fc.constant(Object.entries(NAMED));
  fc.assert(
    fc.property(usual, fc.array(line, { maxLength: 3 }), fc.boolean(), (all, more, isFirst) => {
      // A name twice in a record is one header, the last.
      const record = Object.fromEntries<unknown>(isFirst ? [...more, ...all] : [...all, ...more]);
      const lines = Object.entries(record);
      const read = readDeliveryHeaders(record as WebhookHeaders);
      expect(read).toEqual(expectedOf(lines));
      if (read !== undefined) expect(readSignedHeaders(record as WebhookHeaders)).toEqual(read);
    }),
    { seed: 20_261_130, numRuns: 1_000 },
  );
});

test("of the values in the order of the table, the first that is wrong is named", () => {
  const values: readonly unknown[] = Object.values(GOOD);
  const withOne = (at: number, value: unknown) => headersOf(values.toSpliced(at, 1, value));
  expect(headersOf([...values])).toEqual(READ);
  expect([0, 1, 2].map((at) => withOne(at, undefined))).toEqual(["id", "timestamp", "type"]);
  expect([0, 1, 2, 3].map((at) => withOne(at, null))).toEqual(HEADER_ROWS.map(([key]) => key));
  expect(withOne(3, undefined)).toEqual({ ...READ, signature: undefined });
  // Its grammar counts after it has matched no secret.
  expect(withOne(3, "none")).toEqual({ ...READ, signature: "none" });
  const isSignature = true;
  expect(headersOf(values.toSpliced(2, 1, undefined), isSignature)).toMatchObject({ id: "a-1" });
  expect(headersOf(values.toSpliced(1, 1, "x"), isSignature)).toBe("timestamp");
  expect(headersOf(values.toSpliced(3, 1, 7), isSignature)).toBe("signature");
  expect(readSignedHeaders({ ...LOWER, "X-Webhook-Type": "b" })).toBeUndefined();
  expect(readSignedHeaders({ ...LOWER, "x-webhook-type": "no type" })).toMatchObject({ id: "a-1" });
});

test.each<[WebhookHeaders | null | undefined, readonly unknown[], string | undefined]>([
  [null, [], undefined],
  [undefined, [], undefined],
  [{ other: "a" }, [], undefined],
  [{ "x-webhook-id": "a" }, ["a"], "a"],
  [{ "X-Webhook-Id": ["a"] }, ["a"], "a"],
  [{ "x-webhook-id": "a", "X-WEBHOOK-ID": ["b", "c"] }, ["a", "b", "c"], undefined],
  [{ "x-webhook-id": undefined }, [], undefined],
  [{ "x-webhook-id": 7 } as never, [7], undefined],
  [new Headers({ "x-webhook-id": "a" }), ["a"], "a"],
  [new Headers(), [], undefined],
])("every value of a header is found in %j", (headers, values, text) => {
  expect(valuesOf(headers, "X-Webhook-Id")).toEqual(values);
  expect(headerText(headers ?? {}, "X-Webhook-Id")).toBe(text);
  expect(hasDeliveryMark(headers)).toBe(values.length > 0);
});

const TOKEN = "is not 1 to 128 characters of [0-9A-Za-z._-]";
test.each<[object, string]>([
  [{}, "None of the four X-Webhook- headers is there."],
  [
    { "x-webhook-signature": SIGNATURE },
    "X-Webhook-Id is missing; X-Webhook-Timestamp is missing; X-Webhook-Type is missing.",
  ],
  [{ ...LOWER, "x-webhook-id": ["a", "a"] }, "X-Webhook-Id is repeated."],
  [{ ...LOWER, "x-webhook-id": "a,b" }, "X-Webhook-Id is repeated."],
  [
    { ...LOWER, "x-webhook-id": 7, "x-webhook-type": "a b" },
    `X-Webhook-Id ${TOKEN}; X-Webhook-Type ${TOKEN}.`,
  ],
  [{ ...LOWER, "x-webhook-timestamp": " x" }, "X-Webhook-Timestamp is not 1 to 12 digits."],
  [{ ...LOWER, "x-webhook-id": "\ta " }, "."],
  [{ ...LOWER, "x-webhook-signature": [SIGNATURE, `\t${SIGNATURE}`] }, "."],
  [{ ...LOWER, "x-webhook-signature": [SIGNATURE, 7] }, signatureFault()],
  [{ ...LOWER, "x-webhook-signature": "v1" }, signatureFault()],
])("what is wrong with %j is said in words", (headers, words) => {
  expect(headerFaults(headers as WebhookHeaders)).toBe(words);
});

describe("the type that a malformed request claims", () => {
  test.each<[object | null, string | undefined]>([
    [LOWER, "new_alarm"],
    [{ ...LOWER, "x-webhook-signature": "bad" }, "new_alarm"],
    [{ ...LOWER, "x-webhook-id": "a b" }, "new_alarm"],
    [{ ...LOWER, "x-webhook-id": "a b", "x-webhook-signature": "bad" }, undefined],
    [{ ...LOWER, "x-webhook-type": "a b" }, "none"],
    [{ ...LOWER, "x-webhook-type": "later" }, "other"],
    [{ ...LOWER, "x-webhook-type": "new_alarm , b" }, "new_alarm"],
    [{ ...LOWER, "x-webhook-type": 7 }, "none"],
    [null, undefined],
    [THROWING, undefined],
  ])("of %j is %s", (headers, type) => {
    expect(claimedType(headers as WebhookHeaders)).toBe(type);
  });
});

test("X-Webhook-Type alone is no mark of a delivery", () => {
  expect(hasDeliveryMark({ "x-webhook-type": "new_alarm" })).toBe(false);
  expect(hasDeliveryMark({ "x-webhook-signature": "" })).toBe(true);
});

test.each<[unknown, boolean]>([
  [LISTED, true],
  [`a${LISTED}`, false],
  [`${LISTED}0`, false],
  [LISTED.slice(0, -1), false],
  [LISTED.toUpperCase(), false],
  [[LISTED], false],
])("whether %j is the id of a listed record is %s", (id, isListed) => {
  expect(isListedId(id)).toBe(isListed);
});

test("what is recovered has the second of the clock, no signature, and the record in its body", () => {
  const { id, type, timestamp } = GOOD;
  const headers = { id, type, timestamp, timestampMs: READ.timestampMs, signature: undefined };
  const request = { body: "{}", waitUntil: undefined };
  expect(recoveredDelivery({ id, type, body: "{}" }, SECOND)).toStrictEqual({
    request: { ...request, headers: lowerCaseHeaders({ id, type, timestamp }) },
    headers,
  });
  const recoverAs = (webhook: "new_alarm" | "delete_my_data_event", now = SECOND) =>
    recoveredRecord({ type: webhook, record: { id: 1 } }, LISTED, now);
  expect(recoverAs("new_alarm")).toStrictEqual({
    request: { ...request, headers: {}, body: '{"alarm":{"id":1}}' },
    headers: { ...headers, id: LISTED },
  });
  expect(recoverAs("delete_my_data_event").request.body).toBe('{"event":{"id":1}}');
  expect(recoverAs("new_alarm", throwing(new Error("no time"))).headers?.timestamp).toBe("0");
});

test("what cannot be read for its recovery is malformed", () => {
  const malformed = { request: { headers: {}, body: "" }, headers: undefined };
  expect(recoveredDelivery(null as never, SECOND)).toStrictEqual(malformed);
  expect(recoveredRecord(null as never, LISTED, SECOND)).toStrictEqual(malformed);
});
