import { createServer } from "node:http";
import { describe, expect, test } from "vitest";
import { nodeHandler } from "../../adapters/node.js";
import type { WebhookRequest } from "../../src/index.js";
import { answerOf } from "../support/alarm-receiver.js";
import { delivery, type SignedHeaders } from "../support/deliveries.js";
import { Monitored } from "../support/monitored-receiver.js";
import { recordingReceiver } from "../support/recording-receiver.js";
import { serving } from "../support/serving.js";

const PROBES = ["GET", "HEAD", "OPTIONS"];
const LINE =
  /^identity-gateway-webhooks: malformed: A delivery has lost its method and its body: something in front redirects it\. It came as GET, with the headers of a delivery\. Register the URL that the redirect leads to/;

const { headers: HEADERS } = await delivery();
const { "x-webhook-signature": SIGNATURE, ...UNSIGNED } = HEADERS;

describe.each<[string, WebhookRequest["headers"]]>([
  ["all four", HEADERS],
  ["none but X-Webhook-Id", { "x-webhook-id": HEADERS["x-webhook-id"] }],
  ["none but X-Webhook-Timestamp", { "X-WEBHOOK-TIMESTAMP": "1" }],
  ["none but X-Webhook-Signature", { "X-Webhook-Signature": SIGNATURE }],
  ["all but the signature", UNSIGNED],
  ["an empty id", { "x-webhook-id": "" }],
  ["an id that is sent twice", { "x-webhook-id": ["a", "a"] }],
  ["an id in two letter cases", { "x-webhook-id": "a", "X-Webhook-Id": "a" }],
  ["a Headers object", new Headers(HEADERS)],
  ["a Headers object with an empty signature", new Headers([["X-Webhook-Signature", ""]])],
])("a probe with %s", (_name, headers) => {
  test.each(["retry", "reject"] as const)(
    "is never acknowledged nor refused for good, with unverifiable: %s",
    async (unverifiable) => {
      for (const method of PROBES) {
        const { receive, handled, reports } = recordingReceiver({ unverifiable });
        const answer = await receive({ method, headers, body: "" });
        expect(await answerOf(answer)).toBe("409 malformed");
        expect(answer.headers).toMatchObject({ "content-type": "application/json" });
        expect(JSON.parse(answer.body)).toMatchObject({ error: { code: "MALFORMED" } });
        expect(reports).toMatchObject([{ outcome: "malformed", status: 409, bytes: 0 }]);
        expect(handled).toEqual([]);
      }
    },
  );
});

test.each([
  ["no headers", {}],
  ["headers that are null", null],
  ["X-Webhook-Type alone", { "X-Webhook-Type": "new_alarm" }],
  ["an id that is an empty list", { "x-webhook-id": [] }],
  ["an id that is undefined", { "x-webhook-id": undefined }],
])("a probe with %s finds the URL, and no line is logged", async (_name, headers) => {
  const { receive, lines } = recordingReceiver();
  for (const method of PROBES) {
    const request = { method, headers, body: "" } as WebhookRequest;
    expect(await receive(request)).toMatchObject({ outcome: "reachable", body: "" });
  }
  expect(lines).toEqual([]);
});

test("one line a minute says that something in front redirects, also amid other malformed requests", async () => {
  const { receive, lines } = recordingReceiver();
  const { headers } = await delivery();
  await receive({ headers: {}, body: "" });
  for (let times = 0; times < 3; times += 1) await receive({ method: "GET", headers, body: "" });
  expect(lines.map(({ level, message }) => [level, message])).toEqual([
    ["warn", expect.stringContaining("None of the four X-Webhook- headers is there.")],
    ["warn", expect.stringMatching(LINE)],
  ]);
  // Its cause is named already.
  expect(lines.at(-1)?.message).not.toContain("Usual causes");
  for (const value of Object.values(headers).slice(1)) {
    expect(JSON.stringify(lines)).not.toContain(value);
  }
});

test.each([
  ["signed deliveries", {}, {}],
  ["deliveries without a signature", {}, { "x-webhook-signature": undefined }],
  [
    "deliveries to a receiver without a secret",
    { secret: undefined, acceptUnsignedDeliveries: true },
    { "x-webhook-signature": undefined },
  ],
] as const)("health is failing while a redirect loses all %s", async (_name, options, headers) => {
  const monitored = new Monitored(options);
  for (let attempt = 0; attempt < 5; attempt += 1) {
    expect(await monitored.send({ headers, request: { method: "GET" } })).toBe("malformed");
    monitored.pass({ minutes: 3 });
    expect(monitored.health().status).toBe(attempt < 4 ? "ok" : "degraded");
  }
  monitored.pass({ minutes: 3 });
  await monitored.send({ headers, request: { method: "GET" } });
  expect(monitored.health()).toMatchObject({
    status: "failing",
    reasons: expect.arrayContaining([
      expect.objectContaining({ code: "all_refused", count: 6 }),
    ]) as unknown,
    lastAuthenticAt: null,
  });
  // The webhook has got the right URL.
  await monitored.send();
  expect(monitored.codes()).not.toContain("all_refused");
});

test("a stranger's probes with a header of a delivery leave health ok", async () => {
  const monitored = new Monitored();
  const changes: Partial<Record<keyof SignedHeaders, string | undefined>> = {
    "x-webhook-signature": "v1=0",
    "x-webhook-timestamp": undefined,
  };
  for (let attempt = 0; attempt < 10; attempt += 1) {
    await monitored.send({ headers: changes, request: { method: "GET" } });
    monitored.pass({ minutes: 2 });
  }
  expect(monitored.health()).toMatchObject({ status: "ok", reasons: [] });
});

/** A receiver on a server, and a server in front that redirects to it. */
async function behindRedirect(status: number) {
  const observed = recordingReceiver();
  const location = await serving(createServer(nodeHandler(observed.receiver)));
  const front = createServer((_req, res) => res.writeHead(status, { location }).end());
  return { ...observed, front: await serving(front) };
}

test.each([301, 302, 303])(
  "a delivery that Node's fetch sends through a redirect with %i is not acknowledged, and is seen",
  async (status) => {
    const { front, receiver, handled, lines, reports } = await behindRedirect(status);
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const answer = await fetch(front, await delivery({ id: `redirected-${String(attempt)}` }));
      expect(answer.status).toBe(409);
      expect(await answer.json()).toMatchObject({ error: { code: "MALFORMED" } });
    }
    expect(handled).toEqual([]);
    expect(lines.map(({ message }) => message)).toEqual([expect.stringMatching(LINE)]);
    expect(reports).toHaveLength(5);
    const reasons = [{ code: "mismatch_ratio", count: 5 }];
    expect(receiver.health()).toMatchObject({ status: "degraded", reasons });
  },
);

test.each([307, 308])(
  "a delivery that Node's fetch sends through a redirect with %i is handled: it stays a POST",
  async (status) => {
    const { front, handled } = await behindRedirect(status);
    expect((await fetch(front, await delivery())).status).toBe(200);
    expect(handled).toHaveLength(1);
  },
);
