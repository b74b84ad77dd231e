import * as z from "zod/mini";
import { parseGatewayTime } from "../gateway-time.js";
import { FixtureError } from "./fixture-error.js";

/** What a receiver with the fixture's secret and default settings answers. */
export interface FixtureExpectation {
  /** The outcome's name, such as `handled`. */
  readonly outcome?: string;
  /** HTTP status. */
  readonly status: number;
}

/** A recorded delivery (fixtures/README.md). */
export interface Fixture {
  /** Its file, without the folder that was loaded and without `.json`; folders are parted by `/`. */
  readonly name: string;
  /** One phrase. */
  readonly description: string;
  /** What the receiver's clock showed: a delivery is stale or not relative to it. */
  readonly receivedAt: Date;
  /** Left out where nobody has said what is right. */
  readonly expect?: FixtureExpectation;
  /** As they were sent; a list is a header that was sent more than once. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** The exact bytes. */
  readonly body: Uint8Array;
}

// Each with a message of its own: zod's may quote the value.
const TEXT = "has to be a string";
const OBJECT = "has to be an object";
const VALUES = "has to be a string, or a list of strings";
const STATUS = "has to be an HTTP status, from 100 to 599";
const OUTCOME = "has to be an outcome's name";
const MOMENT = "has to be a moment in ISO 8601, such as 2026-07-08T10:00:06.000Z";
const BASE64 = "has to be base64, padded";
const UNICODE = "has half a surrogate pair, which UTF-8 cannot write: use bodyBase64";

const expectationSchema = z.strictObject(
  {
    outcome: z.optional(z.string(OUTCOME).check(z.minLength(1, OUTCOME))),
    status: z.int(STATUS).check(z.minimum(100, STATUS), z.maximum(599, STATUS)),
  },
  named(OBJECT),
);

const fileSchema = z.strictObject(
  {
    description: z.string(TEXT),
    receivedAt: z.string(MOMENT).check(z.refine(isMoment, MOMENT)),
    expect: z.optional(expectationSchema),
    headers: z.record(
      z.string(TEXT),
      z.union(
        [z.string(VALUES), z.array(z.string(VALUES), VALUES).check(z.minLength(1, VALUES))],
        VALUES,
      ),
      OBJECT,
    ),
    body: z.optional(z.string(TEXT).check(z.refine(isUnicode, UNICODE))),
    bodyBase64: z.optional(z.string(TEXT).check(z.refine(isBase64, BASE64))),
  },
  named(OBJECT),
);

/** A field that nobody reads is misspelt: an `expects` would silently leave the fixture unjudged. */
function named(message: string): { error: (issue: object) => string } {
  return {
    error: (issue) =>
      "keys" in issue && Array.isArray(issue.keys)
        ? `has no field of the name ${issue.keys.join(", ")}`
        : message,
  };
}

function isMoment(text: string): boolean {
  try {
    parseGatewayTime(text);
    return true;
  } catch {
    return false;
  }
}

function isUnicode(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

function isBase64(text: string): boolean {
  // Buffer passes over what it does not know, and the bytes would be others than were meant.
  return Buffer.from(text, "base64").toString("base64") === text;
}

/**
 * Reads the JSON of a fixture's file. `file` is what errors call it.
 *
 * @throws FixtureError with code `invalid_fixture`, which names the file and the field.
 */
export function parseFixture(text: string, name: string, file = name): Fixture {
  const invalid = (what: string): FixtureError =>
    new FixtureError("invalid_fixture", `${file} is no fixture: ${what}`);
  let json: unknown;
  try {
    // Some editors begin a file with a byte order mark.
    json = JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch {
    // Without the cause, whose message quotes the text.
    throw invalid("it is no JSON");
  }
  const read = fileSchema.safeParse(json);
  if (!read.success) {
    const [issue] = read.error.issues;
    const field = (issue?.path ?? []).map(String).join(".");
    throw invalid(`${field === "" ? "it" : field} ${issue?.message ?? ""}`);
  }
  const { description, receivedAt, expect, headers, body, bodyBase64 } = read.data;
  if ((body === undefined) === (bodyBase64 === undefined)) {
    throw invalid("it has to have one of body and bodyBase64");
  }
  return {
    name,
    description,
    receivedAt: parseGatewayTime(receivedAt),
    ...(expect === undefined ? {} : { expect: expectationOf(expect) }),
    headers,
    body: body === undefined ? Buffer.from(bodyBase64 ?? "", "base64") : Buffer.from(body),
  };
}

function expectationOf({ outcome, status }: z.output<typeof expectationSchema>) {
  return { ...(outcome === undefined ? {} : { outcome }), status };
}

/**
 * The text of a fixture's file, which `parseFixture` reads back to the same bytes. The body is text
 * where it is UTF-8, and base64 elsewhere. The name is the file's and is not written.
 */
export function formatFixture(fixture: Omit<Fixture, "name">): string {
  const { description, receivedAt, expect, headers, body } = fixture;
  const file = {
    description,
    receivedAt: receivedAt.toISOString(),
    ...(expect === undefined ? {} : { expect }),
    headers,
    ...bodyFields(body),
  };
  // A byte order mark is invisible, and editors remove it.
  return `${JSON.stringify(file, null, 2).replaceAll("\uFEFF", "\\ufeff")}\n`;
}

function bodyFields(body: Uint8Array): { body: string } | { bodyBase64: string } {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const text = bytes.toString("utf8");
  return Buffer.from(text).equals(bytes)
    ? { body: text }
    : { bodyBase64: bytes.toString("base64") };
}
