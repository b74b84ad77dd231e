import { describe, expect, test } from "vitest";
import type { WebhookHeaders } from "../../src/delivery/header-values.js";
import { delivery, type SignedHeaders } from "../support/deliveries.js";
import { recordingReceiver } from "../support/recording-receiver.js";

const NAMES = [
  "x-webhook-id",
  "x-webhook-timestamp",
  "x-webhook-type",
  "x-webhook-signature",
] as const;
type Name = (typeof NAMES)[number];

/** The outcome of a genuine delivery whose headers `change` has converted. */
async function outcomeWith(change: (headers: SignedHeaders) => unknown) {
  const { receive, handled } = recordingReceiver();
  const request = await delivery();
  const headers = change(request.headers) as WebhookHeaders;
  const { outcome, status } = await receive({ ...request, headers });
  return { outcome, status, runs: handled.length };
}

const HANDLED = { outcome: "handled", status: 200, runs: 1 };
const MALFORMED = { outcome: "malformed", status: 409, runs: 0 };
const UNSIGNED = { outcome: "unsigned", status: 409, runs: 0 };

function rename(headers: Readonly<Record<string, unknown>>, to: (name: string) => string) {
  return Object.fromEntries(Object.entries(headers).map(([name, text]) => [to(name), text]));
}

function revalue(headers: SignedHeaders, to: (text: string) => unknown) {
  return Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, to(text)]));
}

function without(headers: SignedHeaders, name: Name): Record<string, string> {
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
    (headers) => ({
      ...headers,
      "x-request-id": "a",
      "accept-charset": "utf-8",
      "x-forwarded-for": "b",
      "x-webhook-delivery1": "c",
    }),
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
  expect(await outcomeWith(change)).toEqual(HANDLED);
});

describe.each(NAMES)("%s", (name) => {
  const missing = name === "x-webhook-signature" ? UNSIGNED : MALFORMED;

  test.each<[string, (headers: SignedHeaders) => unknown]>([
    ["left out", (headers) => without(headers, name)],
    ["undefined", (headers) => ({ ...headers, [name]: undefined })],
    ["an empty list", (headers) => ({ ...headers, [name]: [] })],
    ["left out of a Headers object", (headers) => new Headers(without(headers, name))],
  ])(`${name} is missing if it is %s`, async (_, change) => {
    expect(await outcomeWith(change)).toEqual(missing);
  });

  test.each<[string, (headers: SignedHeaders) => unknown]>([
    ["as a list of two", (headers) => ({ ...headers, [name]: [headers[name], headers[name]] })],
    ["in two letter cases", (headers) => ({ ...headers, [name.toUpperCase()]: headers[name] })],
    ["in a Headers object", appendTwice],
    [
      "joined by a comma, as Node joins them",
      (headers) => ({ ...headers, [name]: `${headers[name]}, ${headers[name]}` }),
    ],
  ])(`${name} is malformed if it is sent twice: %s`, async (_, change) => {
    expect(await outcomeWith(change)).toEqual(MALFORMED);
  });

  test.each<[string, unknown]>([
    ["an empty text", ""],
    ["a number", 1_760_000_000],
    ["null", null],
    ["an object", { toString: () => "1760000000" }],
    ["a list with a number", [1_760_000_000]],
    ["a list in a list", [["a"]]],
  ])(`${name} is malformed as %s`, async (_, value) => {
    expect(await outcomeWith((headers) => ({ ...headers, [name]: value }))).toEqual(MALFORMED);
  });

  test.each<[string, (text: string) => unknown]>([
    ["a list", (text) => [text]],
    ["an object that converts to the text", (text) => ({ toString: () => text })],
  ])(`${name} is malformed if the get method of a Headers object returns %s`, async (_, wrap) => {
    const answer = await outcomeWith((headers) => ({
      get: (other: Name) => (other === name ? wrap(headers[other]) : headers[other]),
    }));
    expect(answer).toEqual(MALFORMED);
  });

  function appendTwice(headers: SignedHeaders): Headers {
    const twice = new Headers(headers);
    twice.append(name satisfies Name, headers[name]);
    return twice;
  }
});

test.each<[string, unknown]>([
  ["undefined", undefined],
  ["null", null],
  ["an empty Headers object", new Headers()],
  ["a list of pairs", [["x-webhook-id", "a"]]],
])("a delivery without any headers is malformed: %s", async (_, headers) => {
  expect(await outcomeWith(() => headers)).toEqual(MALFORMED);
});

test("a missing header is malformed, not unsigned, even without a signature", async () => {
  expect(await outcomeWith(() => ({ "x-webhook-id": "a", "x-webhook-type": "new_alarm" }))).toEqual(
    MALFORMED,
  );
});

test("a Map of lower-case names is read by its get method, like Headers", async () => {
  expect(await outcomeWith((headers) => new Map(Object.entries(headers)))).toEqual(HANDLED);
});
