import http from "node:http";
import express from "express";
import fc from "fast-check";
import supertest from "supertest";
import { expect, it } from "vitest";
import { expressHandler } from "../../adapters/express.js";
import { nodeHandler } from "../../adapters/node.js";
import {
  ConfigurationError,
  createWebhookReceiver,
  GatewayWebhookError,
  type WebhookReceiver,
} from "../../src/index.js";
import { sampleAlarm } from "../../kit/samples/sample-alarm.js";
import { sampleOnlineDataEvent } from "../../kit/samples/sample-online-data-event.js";
import {
  signedDelivery,
  TEST_SECRET,
  type SignedDeliveryOptions,
} from "../../kit/signed-delivery.js";
import { fixtureNamed } from "../support/fixtures.js";
import { serving } from "../support/serving.js";

const secret = TEST_SECRET;
const alarm = sampleAlarm({ text: "Åsa – 東京 🔐" });
const event = sampleOnlineDataEvent("DATA_REAPPEARED");
/** JSON with unusual white space, and bytes that are not UTF-8. */
const BODIES = {
  text: `{ "alarm" : ${JSON.stringify(alarm)} }\n`,
  bytes: Uint8Array.of(0xff, 0x00, 0x7b),
};

/** A receiver that collects what its handlers get. */
function createCollecting() {
  const records: unknown[] = [];
  const handle = (record: unknown) => records.push(record);
  const bodies: Uint8Array[] = [];
  const receiver = createWebhookReceiver({
    secret,
    handlers: {
      new_alarm: handle,
      delete_my_data_event: handle,
      unrecognized: (_, { rawBody }) => bodies.push(rawBody),
    },
    logger: false,
  });
  return { receiver, records, bodies };
}

const DELIVERIES: readonly (readonly [string, SignedDeliveryOptions])[] = [
  ["an alarm", { alarm, secret }],
  ["an event", { event, secret }],
  ["bytes of text", { type: "new_alarm", body: Buffer.from(BODIES.text), secret }],
  ["a text", { type: "new_alarm", body: BODIES.text, secret }],
];

type Delivery = Awaited<ReturnType<typeof signedDelivery>>;

/** The ways in which a test passes a delivery on. Each resolves to the outcome. */
const SENDERS: Readonly<
  Record<string, (receiver: WebhookReceiver, delivery: Delivery) => Promise<string>>
> = {
  receive: async (receiver, delivery) => (await receiver.receive(delivery)).outcome,
  fetch: async (receiver, delivery) => {
    const answer = await fetch(await serving(http.createServer(nodeHandler(receiver))), delivery);
    return ((await answer.json()) as { outcome: string }).outcome;
  },
  supertest: async (receiver, { headers, body }) => {
    const app = express().post("/webhooks", expressHandler(receiver));
    const sending = supertest(app).post("/webhooks").set(headers).send(body);
    const answer = await sending.serialize((bytes: unknown) => bytes as string).expect(200);
    return (answer.body as { outcome: string }).outcome;
  },
};

it.each(
  DELIVERIES.flatMap(([what, options]) =>
    Object.entries(SENDERS).map(([how, send]) => [what, how, options, send] as const),
  ),
)("a signed delivery of %s can be passed to %s", async (_what, _how, options, send) => {
  const { receiver, records } = createCollecting();
  expect(await send(receiver, await signedDelivery(options))).toBe("handled");
  expect(records).toEqual([options.event ?? alarm]);
});

it.each(Object.entries(SENDERS))("a delivery of bytes is unchanged by %s", async (_, send) => {
  const { receiver, bodies } = createCollecting();
  await send(receiver, await signedDelivery({ type: "new_alarm", body: BODIES.bytes, secret }));
  expect(bodies.map((bytes) => [...bytes])).toEqual([[...BODIES.bytes]]);
});

it("signedDelivery makes the golden vector from its inputs", async () => {
  const { headers, body } = fixtureNamed("golden-vector");
  const delivery = await signedDelivery({
    type: "new_alarm",
    body,
    secret,
    id: "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
    timestamp: 1_760_000_000,
  });
  expect(delivery.headers).toEqual(headers);
});

it("signedDelivery defaults to a new id and the current time, and keeps given ones", async () => {
  const before = Math.floor(Date.now() / 1000);
  const [one, other] = [
    await signedDelivery({ alarm, secret }),
    await signedDelivery({ alarm, secret }),
  ];
  expect(one.headers["X-Webhook-Id"]).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  expect(one.headers["X-Webhook-Id"]).not.toBe(other.headers["X-Webhook-Id"]);
  const timestamp = Number(one.headers["X-Webhook-Timestamp"]);
  expect(timestamp).toBeGreaterThanOrEqual(before);
  expect(timestamp).toBeLessThanOrEqual(Date.now() / 1000);
  expect(await signedDelivery({ event, secret, id: "id-1", timestamp: 7 })).toMatchObject({
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      "X-Webhook-Type": "delete_my_data_event",
      "X-Webhook-Id": "id-1",
      "X-Webhook-Timestamp": "7",
    },
    body: JSON.stringify({ event }),
  });
});

it("a signed delivery does not change when its source bytes change", async () => {
  const { receiver, bodies } = createCollecting();
  const body = Uint8Array.from(BODIES.bytes);
  const delivery = await signedDelivery({ type: "new_alarm", body, secret });
  body.fill(0);
  expect(await receiver.receive(delivery)).toMatchObject({ outcome: "handled" });
  expect(bodies).toHaveLength(1);
});

it("signedDelivery sends any type with a body, since the header is not signed", async () => {
  const { receiver } = createCollecting();
  const type = "delete_my_data_event";
  const flipped = await signedDelivery({ type, body: BODIES.text, secret });
  expect(await receiver.receive(flipped)).toMatchObject({ outcome: "type_mismatch" });
});

it.each<[string, () => Promise<unknown>]>([
  // @ts-expect-error one of alarm, event and body
  ["nothing to deliver", () => signedDelivery({ secret })],
  // @ts-expect-error not two of them
  ["an alarm and an event", () => signedDelivery({ alarm, event, secret })],
  // @ts-expect-error not two of them
  ["an alarm and a body", () => signedDelivery({ alarm, body: "{}", type: "new_alarm", secret })],
  // @ts-expect-error a body does not say what it is
  ["a body without a type", () => signedDelivery({ body: "{}", secret })],
  // @ts-expect-error the type follows from the record
  ["another type", () => signedDelivery({ alarm, type: "delete_my_data_event", secret })],
  // @ts-expect-error the option is misspelt
  ["a misspelt option", () => signedDelivery({ alarm, secret, timestampMs: 1 })],
  // @ts-expect-error a secret is needed
  ["no secret", () => signedDelivery({ alarm })],
  ["an empty secret", () => signedDelivery({ alarm, secret: "" })],
])("signedDelivery refuses %s, at compile time or at run time", async (_, make) => {
  await expect(make()).rejects.toThrow(ConfigurationError);
});

it("signedDelivery refuses an invalid id or timestamp, which no receiver would accept", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc.record({ id: fc.constantFrom("", "a:b", "ä", "x".repeat(129)) }),
        fc.record({ timestamp: fc.constantFrom(-1, 0.5, 1e12, Number.NaN) }),
      ),
      async (wrong) => {
        await expect(signedDelivery({ alarm, secret, ...wrong })).rejects.toThrow(
          GatewayWebhookError,
        );
      },
    ),
  );
});
