import { readFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  FixtureError,
  formatFixture,
  parseFixture,
  type Fixture,
} from "../../kit/fixtures/fixture.js";
import { fixtures, fixturesFolder } from "../support/fixtures.js";

const CANARY = "astrid.exempel@example.com";

const FILE = {
  description: "An alarm",
  receivedAt: "2026-07-08T10:00:06.000Z",
  expect: { outcome: "handled", status: 200 },
  headers: { "X-Webhook-Id": "id-1" },
  body: CANARY,
};

const parsed = (file: unknown) => parseFixture(JSON.stringify(file), "a", "folder/a.json");

/** Bodies that are UTF-8, and bodies that are not. */
const bodies = fc.oneof(
  fc.string({ unit: "binary" }).map((text) => Buffer.from(text)),
  fc.string().map((text) => Buffer.from(`\uFEFF${text}`)),
  fc.uint8Array({ maxLength: 40 }),
  // A view of a larger buffer, such as a Node server may pass.
  fc.uint8Array({ minLength: 2, maxLength: 40 }).map((bytes) => bytes.subarray(1)),
);
const headers = fc.dictionary(
  fc.stringMatching(/^[A-Za-z][A-Za-z-]{0,20}$/),
  fc.oneof(fc.string(), fc.array(fc.string(), { minLength: 1, maxLength: 3 })),
  { noNullPrototype: true },
);
const expectations = fc.record(
  { outcome: fc.string({ minLength: 1 }), status: fc.integer({ min: 100, max: 599 }) },
  { requiredKeys: ["status"], noNullPrototype: true },
);

describe("fixture files", () => {
  it.each(fixtures)(
    "the published fixture $name is formatted to exactly its own file",
    async ({ name }) => {
      const text = await readFile(join(fixturesFolder, `${name}.json`), "utf8");
      expect(formatFixture(parseFixture(text, name))).toBe(text);
    },
  );

  it("a fixture with any bytes survives formatFixture and parseFixture", () => {
    fc.assert(
      fc.property(
        fc.record(
          {
            name: fc.constant("a"),
            description: fc.string(),
            receivedAt: fc.date({
              min: new Date("0000-01-01T00:00:00Z"),
              max: new Date("9999-12-31T23:59:59Z"),
              noInvalidDate: true,
            }),
            expect: expectations,
            headers,
            body: bodies,
          },
          {
            requiredKeys: ["name", "description", "receivedAt", "headers", "body"],
            noNullPrototype: true,
          },
        ),
        (fixture: Fixture) => {
          const { body, ...rest } = parseFixture(formatFixture(fixture), "a");
          expect({ ...rest, body: [...body] }).toEqual({ ...fixture, body: [...fixture.body] });
          expect(Object.keys(rest.headers)).toEqual(Object.keys(fixture.headers));
        },
      ),
      { numRuns: 500 },
    );
  });

  it("a fixture file may begin with a byte order mark and may omit expect", () => {
    const { description, receivedAt, headers: recorded, body } = FILE;
    const text = JSON.stringify({ description, receivedAt, headers: recorded, body });
    expect(parseFixture(`\uFEFF${text}`, "a")).toStrictEqual({
      name: "a",
      description,
      receivedAt: new Date(receivedAt),
      headers: recorded,
      body: Buffer.from(body),
    });
    expect(parsed({ ...FILE, expect: { status: 503 } }).expect).toEqual({ status: 503 });
    const either = { outcome: "handled", status: 200, orSentAgain: true };
    expect(parsed({ ...FILE, expect: either }).expect).toEqual(either);
  });
});

describe("files that are not a fixture", () => {
  const without = (field: keyof typeof FILE) => ({ ...FILE, [field]: undefined });
  const STATUS = "expect.status must be an HTTP status from 100 to 599";
  const TIME = "receivedAt must be an ISO 8601 time, such as 2026-07-08T10:00:06.000Z";
  const VALUES = "must be a string or a list of strings";
  const ONE_BODY = "it must have either body or bodyBase64";

  it.each<[unknown, string]>([
    [[CANARY], "it must be an object"],
    [null, "it must be an object"],
    [without("description"), "description must be a string"],
    [without("receivedAt"), TIME],
    [{ ...FILE, receivedAt: "yesterday" }, TIME],
    [{ ...FILE, receivedAt: "2026-02-30T10:00:00Z" }, TIME],
    [{ ...FILE, expect: "handled" }, "expect must be an object"],
    [{ ...FILE, expect: { outcome: "handled" } }, STATUS],
    [{ ...FILE, expect: { status: 99 } }, STATUS],
    [{ ...FILE, expect: { status: 200.5 } }, STATUS],
    [
      { ...FILE, expect: { status: 200, orSentAgain: "yes" } },
      "expect.orSentAgain must be true or false",
    ],
    [
      { ...FILE, expect: { status: 200, outcome: 1 } },
      "expect.outcome must be the name of an outcome",
    ],
    [
      { ...FILE, expect: { status: 200, outcom: "" } },
      "expect must not have the unknown field outcom",
    ],
    [{ ...FILE, expects: {} }, "it must not have the unknown field expects"],
    [without("headers"), "headers must be an object"],
    [{ ...FILE, headers: { "X-Webhook-Id": 1 } }, `headers.X-Webhook-Id ${VALUES}`],
    [{ ...FILE, headers: { "X-Webhook-Id": ["a", 1] } }, `headers.X-Webhook-Id ${VALUES}`],
    [{ ...FILE, headers: { "X-Webhook-Id": [] } }, `headers.X-Webhook-Id ${VALUES}`],
    [without("body"), ONE_BODY],
    [{ ...FILE, bodyBase64: "" }, ONE_BODY],
    [{ ...FILE, body: { alarm: CANARY } }, "body must be a string"],
    [
      { ...FILE, body: `${CANARY}\ud800` },
      "body has a lone surrogate, which UTF-8 cannot encode: use bodyBase64",
    ],
    [{ ...without("body"), bodyBase64: "e30" }, "bodyBase64 must be padded base64"],
    [{ ...without("body"), bodyBase64: CANARY }, "bodyBase64 must be padded base64"],
  ])("parseFixture names the file and the field that is wrong (%#)", (file, message) => {
    expect(() => parsed(file)).toThrow(
      new FixtureError("invalid_fixture", `folder/a.json is not a fixture: ${message}`),
    );
  });

  it("parseFixture never quotes a file that is not JSON", () => {
    const text = formatFixture(parsed(FILE));
    fc.assert(
      fc.property(
        fc.nat(text.length - 3),
        fc.constantFrom("", "x", '"', "\u0000"),
        (at, inserted) => {
          const broken = `${text.slice(0, at)}${inserted}`;
          let error: unknown;
          try {
            parseFixture(broken, "a", "folder/a.json");
          } catch (thrown) {
            error = thrown;
          }
          expect(error).toEqual(
            new FixtureError("invalid_fixture", "folder/a.json is not a fixture: it is not JSON"),
          );
          expect(error).not.toHaveProperty("cause");
        },
      ),
    );
  });
});
