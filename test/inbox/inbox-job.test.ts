import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { inboxJobOf, readInboxJob } from "../../src/inbox/inbox-job.js";
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

describe("the data of a job", () => {
  it("a job has the documented JSON, with text if the body is UTF-8", () => {
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
    ["bytes that are not UTF-8", Uint8Array.of(0xff, 0xfe), "//4="],
    ["a zero byte, which jsonb refuses", Uint8Array.of(0x7b, 0x00, 0x7d), "ewB9"],
  ])("a job has base64 for %s", (_, rawBody, body) => {
    expect(inboxJobOf(context(rawBody))).toMatchObject({ encoding: "base64", body });
  });

  it("a job is read back to the signed bytes, with a byte order mark", () => {
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
        expect(readInboxJob(stored)).toEqual({
          headers: { id, type, timestamp: String(timestamp), timestampMs: timestamp * 1000 },
          rawBody,
          recovered: false,
          carrier: {},
        });
      }),
    );
  });

  it("a job of a large body is read back to the signed bytes", () => {
    for (const length of [8_191, 8_192, 8_193, 300_000]) {
      const rawBody = Uint8Array.from({ length }, (_, at) => (at * 31) % 256);
      const { rawBody: back } = readInboxJob(inboxJobOf(context(rawBody)));
      expect(Buffer.compare(back, rawBody)).toBe(0);
    }
  });
});

const LISTED_ID = `list#${"0a".repeat(32)}`;

describe("reading a job", () => {
  const job = inboxJobOf(context(bytes("{}")));

  it("a job may have fields that this version does not know", () => {
    expect(readInboxJob({ ...job, added: true }).headers.id).toBe(job.id);
  });

  it.each([
    ["a job", "expected an object"],
    [null, "expected an object"],
    [{ ...job, version: 2 }, "expected version 1"],
    [{ ...job, id: "a:b" }, "expected a delivery id in id"],
    [{ ...job, type: "new alarm" }, "expected a webhook type in type"],
    [{ ...job, timestamp: "1" }, "expected Unix seconds in timestamp"],
    [{ ...job, timestamp: -1 }, "expected Unix seconds in timestamp"],
    [{ ...job, timestamp: 1e12 }, "expected Unix seconds in timestamp"],
    [{ ...job, timestamp: 1.5 }, "expected Unix seconds in timestamp"],
    [{ ...job, encoding: "hex" }, 'expected "utf-8" or "base64" in encoding'],
    [{ ...job, body: {} }, "expected a string in body"],
    [
      { ...job, encoding: "overflow", body: "../../etc/hostname" },
      "expected the key of its own id in body",
    ],
    [
      { ...job, id: LISTED_ID, encoding: "overflow", body: LISTED_ID },
      "expected the key of its own id in body",
    ],
    [{ ...job, encoding: "base64", body: "%" }, "expected base64 in body"],
  ])("a job is refused that is %o: %s", (data, message) => {
    expect(() => readInboxJob(data)).toThrow(expect.objectContaining({ code: "unreadable_job" }));
    expect(() => readInboxJob(data)).toThrow(message);
  });

  it("the error for a refused job quotes nothing of it", () => {
    const secret = "19121212-1212";
    // Any text is a valid body.
    for (const field of Object.keys(job).filter((name) => name !== "body")) {
      const read = () => readInboxJob({ ...job, [field]: `%${secret}:` });
      expect(read).toThrow(expect.objectContaining({ code: "unreadable_job" }));
      expect(read).not.toThrow(secret);
    }
  });
});
