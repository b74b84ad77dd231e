// Compiled, never run: by `npm run check` against the build, and by the packaging test against the
// installed tarball. Each `@ts-expect-error` fails the compilation where the wrong use would pass.
import {
  createWebhookReceiver,
  memoryStore,
  parseAlarmPayload,
  parseGatewayTime,
  signDelivery,
  verifySignature,
  ConfigurationError,
  DiscardDelivery,
  RetryLater,
  type Alarm,
  type ClaimResult,
  type DeliveryContext,
  type DeliveryStore,
  type WebhookHandlers,
  type OnlineDataEvent,
  type WebhookOutcome,
  type OutcomeReport,
  type SecretOption,
  type UnrecognizedDelivery,
  type WebhookReceiver,
  type WebhookReceiverOptions,
  type WebhookRequest,
  type WebhookResponse,
  type WebhookType,
  type HealthReasonCode,
  type ReceiverHealth,
} from "identity-gateway-webhooks";
import { expressHandler } from "identity-gateway-webhooks/express";
import type { fetchHandler } from "identity-gateway-webhooks/fetch";
import { honoHandler } from "identity-gateway-webhooks/hono";
import { nodeHandler } from "identity-gateway-webhooks/node";
import {
  alarmSchema,
  type deleteMyDataEventSchema,
  type newAlarmSchema,
  type onlineDataEventSchema,
  type StandardSchema,
} from "identity-gateway-webhooks/schemas";
import { type Equal, type IsAny, isNotAny, type Members, proves } from "./proofs.js";

const secret: string | undefined = String(Math.random());
const handlers = { new_alarm: () => undefined };
const plain = { secret: "s", handlers };

// The use of the README compiles with an environment variable as it is.
const receiver = createWebhookReceiver({
  secret,
  handlers: {
    new_alarm: async (alarm, { id, takeover, signal, rawBody, timestamp, type }) => {
      proves<Equal<typeof alarm, Alarm>>();
      proves<Equal<typeof id, string>>();
      proves<Equal<typeof takeover, boolean>>();
      proves<Equal<typeof signal, AbortSignal>>();
      proves<Equal<typeof rawBody, Uint8Array>>();
      proves<Equal<typeof timestamp, Date>>();
      proves<Equal<typeof type, string>>();
      await Promise.resolve();
    },
    delete_my_data_event: {
      DATA_REAPPEARED: (event) => {
        proves<Equal<typeof event.type, "DATA_REAPPEARED">>();
      },
      POWER_OF_ATTORNEY_SIGNED: (event) => {
        proves<Equal<typeof event.type, "POWER_OF_ATTORNEY_SIGNED">>();
      },
      "*": (event) => {
        proves<Equal<typeof event, OnlineDataEvent>>();
      },
    },
    unrecognized: ({ type, body, issues }) => {
      proves<Equal<typeof type, string>>();
      proves<Equal<typeof body, unknown>>();
      isNotAny(issues);
    },
  },
});
proves<Equal<typeof receiver, WebhookReceiver>>();

// The secret in its other forms.
createWebhookReceiver({ ...plain, secret: { new_alarm: "a", delete_my_data_event: ["b", "c"] } });
createWebhookReceiver({
  handlers,
  secret: async ({ type }) => {
    proves<Equal<typeof type, WebhookType>>();
    return Promise.resolve(`secret of ${type}`);
  },
});
createWebhookReceiver({ acceptUnsignedDeliveries: true, handlers });

// @ts-expect-error: without a secret
createWebhookReceiver({ handlers });
// @ts-expect-error: without handlers
createWebhookReceiver({ secret });
const conflicting = { ...plain, acceptUnsignedDeliveries: true } as const;
// @ts-expect-error: a secret and none at once
createWebhookReceiver(conflicting);
// From environment variables, without a cast. A missing one is refused at the start, by its name.
createWebhookReceiver({ handlers, secret: { new_alarm: secret, delete_my_data_event: secret } });
// @ts-expect-error: a type that is none
createWebhookReceiver({ handlers, secret: { alarm: "a" } });
// @ts-expect-error: a misspelt option
createWebhookReceiver({ ...plain, timestampTolerance: 1000 });
// @ts-expect-error: a unit that does not exist
createWebhookReceiver({ ...plain, expectEvery: { new_alarm: "6w" } });
// @ts-expect-error: an unknown webhook type
createWebhookReceiver({ ...plain, expectEvery: { alarm: "6h" } });
const watched = createWebhookReceiver({
  ...plain,
  expectEvery: { new_alarm: "6h", delete_my_data_event: 3_600_000 },
});
const health: ReceiverHealth = watched.health({ queues: [{ dead: 2 }] });
const codes: readonly HealthReasonCode[] = health.reasons.map(({ code }) => code);
// @ts-expect-error: no reason has this code
codes.includes("late");
createWebhookReceiver({ ...plain, unverifiable: { signature_mismatch: "reject", stale: "retry" } });
// @ts-expect-error: unverifiable is one of two words
createWebhookReceiver({ ...plain, unverifiable: "ignore" });
// @ts-expect-error: an outcome of a verified request is always retried
createWebhookReceiver({ ...plain, unverifiable: { handler_failed: "reject" } });
// @ts-expect-error: a parsed body is no raw body
void receiver.receive({ headers: {}, body: { alarm: {} } });
// @ts-expect-error: the delay is a number
new RetryLater({ afterMs: "soon" });
// @ts-expect-error: the delay is named
new RetryLater(5_000);
// @ts-expect-error: the reason is named
new DiscardDelivery("account closed");
new DiscardDelivery({ reason: "account closed", cause: new Error("404") });
// @ts-expect-error: a store has four methods
createWebhookReceiver({ secret: "s", store: { claim: () => undefined }, handlers: {} });

// A store written by hand, synchronous or not.
const store: DeliveryStore = {
  claim: () => Promise.resolve({ state: "claimed", takeover: false }),
  renew: () => true,
  complete: () => undefined,
  release: () => Promise.resolve(),
};
createWebhookReceiver({ ...plain, store });

createWebhookReceiver({ ...plain, store: memoryStore({ maxEntries: 1 }) });
// @ts-expect-error: a misspelt option of a store
memoryStore({ maxEntry: 1 });

// Payloads: unknown without a schema, the schema's output with one.
declare const alarm: Alarm;
declare const schema: StandardSchema<{ breach: string }>;
const untyped = parseAlarmPayload(alarm);
proves<Equal<typeof untyped, unknown>>();
const typed = parseAlarmPayload(alarm, schema);
proves<Equal<typeof typed, { breach: string }>>();

// Open enums complete the known values and let any other pass.
export const severities: readonly Alarm["severity"][] = ["High", "Catastrophic"];

// Nothing public is `any`.
isNotAny(receiver.receive);
isNotAny(receiver.drain);
isNotAny(signDelivery);
isNotAny(verifySignature);
isNotAny(memoryStore({ maxEntries: 1 }));
isNotAny(parseGatewayTime("2026-07-08 10:00:00"));
isNotAny(new ConfigurationError("invalid_option", "x").code);
isNotAny(new DiscardDelivery({ reason: "x" }));
isNotAny(alarm.severity);

// The schemas are Standard Schemas of our own interfaces, whatever library they are made with.
type OutputOf<Schema extends StandardSchema<unknown>> = NonNullable<
  Schema["~standard"]["types"]
>["output"];
proves<Equal<OutputOf<typeof alarmSchema>, Alarm>>();
proves<Equal<OutputOf<typeof onlineDataEventSchema>, OnlineDataEvent>>();
proves<Equal<OutputOf<typeof newAlarmSchema>, { readonly alarm: Alarm }>>();
proves<Equal<OutputOf<typeof deleteMyDataEventSchema>, { readonly event: OnlineDataEvent }>>();
isNotAny(alarmSchema["~standard"].validate({}));
// @ts-expect-error: the library's own methods are no part of the types
alarmSchema.parse({});

proves<Equal<Members<DeliveryContext>, false>>();
proves<Equal<Members<OutcomeReport>, false>>();
proves<Equal<Members<WebhookRequest>, false>>();
proves<Equal<Members<WebhookResponse>, false>>();
proves<Equal<Members<WebhookReceiverOptions>, false>>();
proves<Equal<Members<WebhookHandlers>, false>>();
proves<Equal<Members<UnrecognizedDelivery>, false>>();
proves<Equal<IsAny<SecretOption>, false>>();
proves<Equal<IsAny<WebhookOutcome>, false>>();
proves<Equal<IsAny<ClaimResult>, false>>();

// The adapters' handlers fit their servers by structure, without a dependency on any framework.
isNotAny(expressHandler(receiver));
isNotAny(honoHandler(receiver, { bodyTimeoutMs: 1 }));
isNotAny(nodeHandler(receiver));
proves<Equal<ReturnType<ReturnType<typeof fetchHandler>>, Promise<Response>>>();
// One function for all events, whose own members do not matter.
const onEvent = Object.assign((event: { readonly type: string }) => event.type, {
  maxBodyBytes: 9,
});
createWebhookReceiver({ secret, handlers: { delete_my_data_event: onEvent } });
// @ts-expect-error: an adapter takes a receiver
expressHandler({});
