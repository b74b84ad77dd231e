import { describe, expect, test } from "vitest";
import type { WebhookHeaders } from "../../src/delivery/header-values.js";
import { verifySignature } from "../../src/index.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { throwing } from "../support/faults.js";
import { rawDelivery } from "../support/raw-delivery.js";
import { recordingReceiver } from "../support/recording-receiver.js";

/** A delivery that is handled if its headers are found. */
const GENUINE = rawDelivery();
type SignedHeaders = typeof GENUINE.headers;
const NAMES = Object.keys(GENUINE.headers) as (keyof SignedHeaders)[];

/** The outcome of the genuine delivery with these headers, from both functions that read headers. */
async function judge(headers: unknown) {
  const { receive, handled } = recordingReceiver();
  const request = { headers: headers as WebhookHeaders, body: GENUINE.body };
  const { outcome, status } = await receive(request);
  expect(handled).toHaveLength(outcome === "handled" ? 1 : 0);
  expect(status).toBe(outcome === "handled" ? 200 : 409);
  const verified = await verifySignature({ secret: TEST_SECRET, ...request });
  return { outcome, verified };
}

const HANDLED = { outcome: "handled", verified: true };
const MALFORMED = { outcome: "malformed", verified: false };

/** The outcome of the genuine delivery whose headers `change` has converted. */
const outcomeWith = async (change: (headers: SignedHeaders) => unknown) =>
  (await judge(change(GENUINE.headers))).outcome;

function rename(headers: Readonly<Record<string, unknown>>, to: (name: string) => string) {
  return Object.fromEntries(Object.entries(headers).map(([name, text]) => [to(name), text]));
}

function revalue(headers: SignedHeaders, to: (text: string) => unknown) {
  return Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, to(text)]));
}

function without(headers: SignedHeaders, name: keyof SignedHeaders): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([other]) => other !== name));
}

function titleCase(name: string): string {
  return name.replace(/\b[a-z]/g, (letter) => letter.toUpperCase());
}

test.each<[string, (headers: SignedHeaders) => unknown]>([
  ["in lower case", (headers) => headers],
  ["in capitals", (headers) => rename(headers, (name) => name.toUpperCase())],
  ["in title case", (headers) => rename(headers, titleCase)],
  ["in a Headers object", (headers) => new Headers(headers)],
  ["as one-element lists", (headers) => revalue(headers, (text) => [text])],
  [
    "in a record without a prototype",
    (headers) => Object.assign(Object.create(null) as object, headers),
  ],
  ["beside a header named get", (headers) => ({ ...headers, get: "x" })],
  [
    "beside a header named __proto__",
    (headers) => JSON.parse(`{"__proto__":"x",${JSON.stringify(headers).slice(1)}`) as object,
  ],
  [
    "beside other headers of the same length",
    (headers) => ({ ...headers, "x-request-id": "a", "x-webhook-delivery1": "c" }),
  ],
  [
    "beside undefined ones in another letter case",
    (headers) => ({
      ...rename(
        revalue(headers, () => undefined),
        titleCase,
      ),
      ...headers,
    }),
  ],
])("headers are found %s", async (_, change) => {
  expect(await outcomeWith(change)).toBe("handled");
});

describe.each(NAMES)("%s", (name) => {
  const isSignature = name === "x-webhook-signature";
  const missing = isSignature ? "unsigned" : "malformed";
  const repeated = isSignature ? "handled" : "malformed";

  test.each<[string, (headers: SignedHeaders) => unknown]>([
    ["left out", (headers) => without(headers, name)],
    ["undefined", (headers) => ({ ...headers, [name]: undefined })],
    ["an empty list", (headers) => ({ ...headers, [name]: [] })],
    ["left out of a Headers object", (headers) => new Headers(without(headers, name))],
  ])(`${name} is missing if it is %s`, async (_, change) => {
    expect(await outcomeWith(change)).toBe(missing);
  });

  test.each<[string, (headers: SignedHeaders) => unknown]>([
    ["as a list of two", (headers) => ({ ...headers, [name]: [headers[name], headers[name]] })],
    ["in a Headers object", appendTwice],
    [
      "joined by a comma, as Node joins them",
      (headers) => ({ ...headers, [name]: `${headers[name]}, ${headers[name]}` }),
    ],
  ])(`a delivery is ${repeated} if ${name} is sent twice: %s`, async (_, change) => {
    expect(await outcomeWith(change)).toBe(repeated);
  });

  test.each<[string, unknown]>([
    ["an empty text", ""],
    ["a number", 1_760_000_000],
    ["null", null],
    ["an object", { toString: () => "1760000000" }],
    ["a list with undefined", [undefined]],
    ["a list with a number", [1_760_000_000]],
    ["a list in a list", [["a"]]],
  ])(`${name} is malformed as %s`, async (_, value) => {
    expect(await outcomeWith((headers) => ({ ...headers, [name]: value }))).toBe("malformed");
  });

  test.each<[string, (text: string) => unknown]>([
    ["a list", (text) => [text]],
    ["an object that converts to the text", (text) => ({ toString: () => text })],
  ])(`${name} is malformed if the get method of a Headers object returns %s`, async (_, wrap) => {
    const answer = await outcomeWith((headers) => ({
      get: (other: keyof SignedHeaders) => (other === name ? wrap(headers[other]) : headers[other]),
    }));
    expect(answer).toBe("malformed");
  });

  function appendTwice(headers: SignedHeaders): Headers {
    const twice = new Headers(headers);
    twice.append(name, headers[name]);
    return twice;
  }
});

test.each<[string, unknown]>([
  ["undefined", undefined],
  ["null", null],
  ["an empty Headers object", new Headers()],
  ["a list of pairs", [["x-webhook-id", "a"]]],
])("a delivery without any headers is malformed: %s", async (_, headers) => {
  expect(await outcomeWith(() => headers)).toBe("malformed");
});

test("a missing header is malformed, not unsigned, even without a signature", async () => {
  expect(await outcomeWith(() => ({ "x-webhook-id": "a", "x-webhook-type": "new_alarm" }))).toBe(
    "malformed",
  );
});

test("a Map of lower-case names is read by its get method, like Headers", async () => {
  expect(await outcomeWith((headers) => new Map(Object.entries(headers)))).toBe("handled");
});

/** One of a name's letter cases, chosen by the bits of `mask`. */
function inCase(name: string, mask: number): string {
  return Array.from(name, (letter, at) =>
    (mask >>> (at % 20)) & 1 ? letter.toUpperCase() : letter,
  ).join("");
}

describe.each(NAMES)("%s in a record", (name) => {
  const text = GENUINE.headers[name];
  const repeated = name === "x-webhook-signature" ? HANDLED : MALFORMED;
  const others = Object.fromEntries(
    Object.entries(GENUINE.headers).filter(([key]) => key !== name),
  );

  test(`a delivery is ${repeated.outcome} with ${name} in two letter cases, both not lower case, in any order`, async () => {
    const [one, two] = [{ [inCase(name, 1)]: text }, { [inCase(name, 2 ** 11)]: text }];
    expect(await judge({ ...others, ...one, ...two })).toEqual(repeated);
    expect(await judge({ ...two, ...others, ...one })).toEqual(repeated);
  });

  test.each([
    ["in lower case", 0],
    ["in another letter case", 0xfffff],
  ])(
    `${name} is read once from a getter %s, so the checked value is the used value`,
    async (_, mask) => {
      let reads = 0;
      const record = Object.defineProperty({ ...others }, inCase(name, mask), {
        enumerable: true,
        get: () => {
          reads += 1;
          return text;
        },
      });
      const { receive } = recordingReceiver();
      const { outcome } = await receive({ headers: record, body: GENUINE.body });
      expect({ outcome, reads }).toEqual({ outcome: "handled", reads: 1 });
    },
  );

  test(`${name} may have a getter that throws, and the delivery is not rejected`, async () => {
    const record = Object.defineProperty({ ...others }, name, {
      enumerable: true,
      get: throwing(new Error("no headers today")),
    });
    const { receive, handled } = recordingReceiver();
    const answer = await receive({ headers: record, body: GENUINE.body });
    expect(answer).toMatchObject({ status: 500, outcome: "internal_error" });
    expect(handled).toEqual([]);
  });

  test.each<[string, unknown]>([
    ["an inherited property", Object.create({ [name]: "other" })],
    ["an inherited property in another letter case", Object.create({ [inCase(name, 1)]: "other" })],
    ["symbols with its name", { [Symbol(name)]: "other", [Symbol.for(name)]: "other" }],
  ])(`${name} does not count as repeated because of %s`, async (_, record) => {
    expect(await judge(Object.assign(record as object, GENUINE.headers))).toEqual(HANDLED);
  });
});

test("inherited and non-enumerable names are not headers of a record", async () => {
  for (const mask of [0, 1, 0xfffff]) {
    const headers = Object.entries(GENUINE.headers).map(([name, text]) => [
      inCase(name, mask),
      text,
    ]);
    const record = Object.fromEntries(headers) as object;
    expect(await judge(Object.create(record))).toEqual(MALFORMED);
    const hidden = Object.defineProperties({}, Object.getOwnPropertyDescriptors(record));
    expect(await judge(hidden)).toEqual(HANDLED);
    for (const name of Object.keys(hidden)) {
      Object.defineProperty(hidden, name, { enumerable: false });
    }
    expect(await judge(hidden)).toEqual(MALFORMED);
  }
});
