import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { inboxJobOf, readInboxJob, UnreadableJobError } from "../../src/inbox/inbox-job.js";
import type { DeliveryContext } from "../../src/index.js";

const context = (
  rawBody: Uint8Array,
  overrides: Partial<DeliveryContext> = {},
): DeliveryContext => ({
  id: "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
  type: "new_alarm",
  timestamp: new Date(1_760_000_000_000),
  rawBody,
  signal: new AbortController().signal,
  takeover: false,
  ...overrides,
});

const bytes = (text: string) => new TextEncoder().encode(text);

describe("the job of a delivery", () => {
  it("is the documented JSON, readable where the body is UTF-8", () => {
    expect(inboxJobOf(context(bytes('{"alarm":{"text":"Å"}}')))).toEqual({
      version: 1,
      id: "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
      type: "new_alarm",
      timestamp: 1_760_000_000,
      encoding: "utf-8",
      body: '{"alarm":{"text":"Å"}}',
    });
  });

  it.each([
    ["bytes that are no UTF-8", Uint8Array.of(0xff, 0xfe), "//4="],
    ["a zero byte, which jsonb refuses", Uint8Array.of(0x7b, 0x00, 0x7d), "ewB9"],
  ])("has base64 for %s", (_, rawBody, body) => {
    expect(inboxJobOf(context(rawBody))).toMatchObject({ encoding: "base64", body });
  });

  it("gives the very bytes back, a BOM included", () => {
    const bodies = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.string({ unit: "binary" }).map(bytes),
      fc.string().map((text) => bytes(`\ufeff${text}`)),
    );
    const ids = fc.stringMatching(/^[0-9A-Za-z._-]{1,128}$/);
    const seconds = fc.integer({ min: 0, max: 999_999_999_999 });
    fc.assert(
      fc.property(bodies, ids, ids, seconds, (rawBody, id, type, timestamp) => {
        const date = new Date(timestamp * 1000);
        const job = inboxJobOf(context(rawBody, { id, type, timestamp: date }));
        const stored: unknown = JSON.parse(JSON.stringify(job));
        expect(readInboxJob(stored)).toEqual({ id, type, timestamp: date, rawBody });
      }),
    );
  });

  it("gives large bodies back, in whatever pieces they become text", () => {
    for (const length of [8_191, 8_192, 8_193, 300_000]) {
      const rawBody = Uint8Array.from({ length }, (_, at) => (at * 31) % 256);
      const { rawBody: back } = readInboxJob(inboxJobOf(context(rawBody)));
      expect(Buffer.compare(back, rawBody)).toBe(0);
    }
  });
});

describe("a job that is read", () => {
  const job = inboxJobOf(context(bytes("{}")));

  it("may have fields that were added since", () => {
    expect(readInboxJob({ ...job, added: true }).id).toBe(job.id);
  });

  it.each([
    ["no object", "a job", "expected an object"],
    ["null", null, "expected an object"],
    ["another version", { ...job, version: 2 }, "expected version 1"],
    ["no version", { ...job, version: undefined }, "expected version 1"],
    ["an id with a colon", { ...job, id: "a:b" }, "expected a delivery id in id"],
    ["a list for an id", { ...job, id: ["a"] }, "expected a delivery id in id"],
    ["a type with a space", { ...job, type: "new alarm" }, "expected a webhook type in type"],
    ["a timestamp as text", { ...job, timestamp: "1" }, "expected Unix seconds in timestamp"],
    ["a negative timestamp", { ...job, timestamp: -1 }, "expected Unix seconds in timestamp"],
    ["a far timestamp", { ...job, timestamp: 1e12 }, "expected Unix seconds in timestamp"],
    ["half a second", { ...job, timestamp: 1.5 }, "expected Unix seconds in timestamp"],
    [
      "an unknown encoding",
      { ...job, encoding: "hex" },
      'expected "utf-8" or "base64" in encoding',
    ],
    ["a body that is no text", { ...job, body: {} }, "expected a string in body"],
    ["broken base64", { ...job, encoding: "base64", body: "%" }, "expected base64 in body"],
  ])("is refused with %s", (_, data, message) => {
    expect(() => readInboxJob(data)).toThrow(UnreadableJobError);
    expect(() => readInboxJob(data)).toThrow(message);
  });

  it("is refused without a word of what it holds", () => {
    const secret = "19121212-1212";
    // The body alone may be any text.
    for (const field of Object.keys(job).filter((name) => name !== "body")) {
      const read = () => readInboxJob({ ...job, [field]: `%${secret}:` });
      expect(read).toThrow(UnreadableJobError);
      expect(read).not.toThrow(secret);
    }
  });
});
