import { createHmac } from "node:crypto";
import { Webhooks } from "@octokit/webhooks";
import { createWebhookReceiver, type WebhookReceiver } from "identity-gateway-webhooks";
import { Webhook as StandardWebhook } from "standardwebhooks";
import Stripe from "stripe";
import { Webhook as SvixWebhook } from "svix";
import { ENCODED_SECRET, SECRET, gatewayHeaders, newId, type Body } from "../deliveries.js";
import { createFullReceiverByHand } from "../handwritten/full.js";
import { receiveByHand, verifyByHand } from "../handwritten/verify.js";
import type { Case } from "../rounds.js";
import { githubSignature, standardHeaders, stripeHeader } from "../schemes.js";
import { asynchronous, synchronous } from "./cases.js";

/** A delivery of the gateway, as `receive` takes it. */
export interface GatewayDelivery {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

/** A new signed delivery. */
export function gatewayDelivery(body: Body, secret = SECRET): GatewayDelivery {
  return { method: "POST", headers: gatewayHeaders(body, secret), body: body.bytes };
}

function ours(
  name: string,
  batch: number,
  sign: () => GatewayDelivery,
  makeReceiver: () => WebhookReceiver,
  outcome = "handled",
): Case {
  let receiver = makeReceiver();
  return asynchronous(
    name,
    batch,
    sign,
    (delivery) => receiver.receive(delivery),
    (answer) => (answer as { outcome: string }).outcome === outcome,
    () => {
      receiver = makeReceiver();
    },
  );
}

let handled: unknown;
/** Stores a record, so that the compiler cannot optimize its creation away. */
function handle(record: unknown): void {
  handled = record;
}

/** Whether a record has arrived since the last call. */
function hasHandled(): boolean {
  const arrived = handled !== undefined;
  handled = undefined;
  return arrived;
}

const handlers = { new_alarm: handle, delete_my_data_event: handle };
const OTHER_SECRETS = Array.from({ length: 4 }, (_, at) => `whsec_other_${at}_0123456789abcdef`);

/** Ours with the whole pipeline, the hand-written receivers and the other libraries, on one body. */
export function contenders(body: Body, batch: number): Case[] {
  const sign = () => gatewayDelivery(body);
  let byHand = createFullReceiverByHand(SECRET, handle);
  const standard = new StandardWebhook(ENCODED_SECRET);
  const svix = new SvixWebhook(ENCODED_SECRET);
  const stripe = new Stripe("sk_test_synthetic");
  const octokit = new Webhooks({ secret: SECRET });
  octokit.on("ping", handle);
  const text = body.bytes.toString("utf8");

  return [
    ours("ours", batch, sign, () => createWebhookReceiver({ secret: SECRET, handlers })),
    synchronous("floor: HMAC + JSON.parse", batch, sign, ({ headers, body: bytes }) => {
      createHmac("sha256", SECRET)
        .update(`v1:${headers["x-webhook-timestamp"]}:${headers["x-webhook-id"]}:`)
        .update(bytes)
        .digest();
      handle(JSON.parse(bytes.toString("utf8")));
      return true;
    }),
    synchronous("hand-written: verify + JSON.parse", batch, sign, (delivery) => {
      const parsed = receiveByHand(SECRET, delivery.headers, delivery.body);
      handle(parsed);
      return parsed !== undefined;
    }),
    synchronous(
      "hand-written: + lru-cache + zod",
      batch,
      sign,
      (delivery) => byHand(delivery.headers, delivery.body) === "handled",
      () => {
        byHand = createFullReceiverByHand(SECRET, handle);
      },
    ),
    synchronous(
      "standardwebhooks",
      batch,
      () => standardHeaders("webhook", body),
      (headers) => {
        const parsed = standard.verify(body.bytes, headers);
        handle(parsed);
        return typeof parsed === "object";
      },
    ),
    synchronous(
      "svix",
      batch,
      () => standardHeaders("svix", body),
      (headers) => {
        // It throws if the signature is bad, and leaves the parsing to its caller.
        svix.verify(body.bytes, headers);
        handle(JSON.parse(body.bytes.toString("utf8")));
        return true;
      },
    ),
    synchronous(
      "stripe constructEvent",
      batch,
      () => stripeHeader(body),
      (header) => {
        const event = stripe.webhooks.constructEvent(body.bytes, header, SECRET);
        handle(event);
        return typeof event === "object";
      },
    ),
    asynchronous(
      "octokit verifyAndReceive",
      batch,
      () => ({ id: newId(), name: "ping", payload: text, signature: githubSignature(body) }),
      (event) => octokit.verifyAndReceive(event),
      hasHandled,
    ),
  ];
}

/** The same body with several secrets, the matching one first and last. */
export function rotationCases(body: Body, batch: number): Case[] {
  const sign = () => gatewayDelivery(body);
  return [
    ours("1 secret", batch, sign, () => createWebhookReceiver({ secret: SECRET, handlers })),
    ours("2 secrets, the second matches", batch, sign, () =>
      createWebhookReceiver({ secret: [...OTHER_SECRETS.slice(0, 1), SECRET], handlers }),
    ),
    ours("5 secrets, the fifth matches", batch, sign, () =>
      createWebhookReceiver({ secret: [...OTHER_SECRETS, SECRET], handlers }),
    ),
  ];
}

/** A bad signature: the cost of a forged request. */
export function refusalCases(body: Body, batch: number): Case[] {
  const sign = () => gatewayDelivery(body, "whsec_forged_0123456789abcdef");
  const makeReceiver = () => createWebhookReceiver({ secret: SECRET, handlers, logger: false });
  return [
    ours("ours, refused", batch, sign, makeReceiver, "signature_mismatch"),
    synchronous(
      "hand-written verify + JSON.parse, good",
      batch,
      () => gatewayDelivery(body),
      (delivery) => receiveByHand(SECRET, delivery.headers, delivery.body) !== undefined,
    ),
    synchronous(
      "hand-written verify, good",
      batch,
      () => gatewayDelivery(body),
      (delivery) => {
        return verifyByHand(SECRET, delivery.headers, delivery.body);
      },
    ),
    synchronous("hand-written verify, refused", batch, sign, (delivery) => {
      return !verifyByHand(SECRET, delivery.headers, delivery.body);
    }),
  ];
}
