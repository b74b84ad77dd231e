import { createHmac } from "node:crypto";
import { Webhooks } from "@octokit/webhooks";
import { createWebhookReceiver, type WebhookReceiver } from "identity-gateway-webhooks";
import { Webhook as StandardWebhook } from "standardwebhooks";
import Stripe from "stripe";
import { Webhook as SvixWebhook } from "svix";
import { ENCODED_SECRET, SECRET, gatewayHeaders, newId, type Body } from "../deliveries.js";
import { createAsyncReceiverByHand } from "../handwritten/full.js";
import { receiveByHand, verifyByHand } from "../handwritten/verify.js";
import type { Case } from "../rounds.js";
import { githubSignature, standardHeaders, stripeHeader } from "../schemes.js";
import { asynchronous, caseOf, synchronous } from "./cases.js";

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
  let receiver: WebhookReceiver;
  return asynchronous(
    name,
    batch,
    sign,
    async (delivery) => (await receiver.receive(delivery)).outcome === outcome,
    () => {
      receiver = makeReceiver();
    },
  );
}

let handled: unknown;
/** The handler of every contender: asynchronous, as users write it, and it resolves at once. */
function handle(record: unknown): Promise<void> {
  // Stored, so that the compiler cannot optimize the record's creation away.
  handled = record;
  return Promise.resolve();
}

/** Whether a record has arrived since the last call. */
function hasHandled(): boolean {
  const arrived = handled !== undefined;
  handled = undefined;
  return arrived;
}

const OTHER_SECRETS = Array.from({ length: 4 }, (_, at) => `whsec_other_${at}_0123456789abcdef`);

type Handle = (record: unknown) => Promise<void>;

const makeOurs = (handler: Handle): WebhookReceiver =>
  createWebhookReceiver({
    secret: SECRET,
    handlers: { new_alarm: handler, delete_my_data_event: handler },
  });

/** Ours with the whole pipeline, the hand-written receivers and the other libraries, on one body. */
export function contenders(body: Body, batch: number): Case[] {
  const sign = () => gatewayDelivery(body);
  let byHand: ReturnType<typeof createAsyncReceiverByHand>;
  const standard = new StandardWebhook(ENCODED_SECRET);
  const svix = new SvixWebhook(ENCODED_SECRET);
  const stripe = new Stripe("sk_test_synthetic");
  const octokit = new Webhooks({ secret: SECRET });
  octokit.on("ping", handle);
  const text = body.bytes.toString("utf8");
  const other = <Delivery>(
    name: string,
    signOther: () => Delivery,
    verify: (delivery: Delivery) => unknown,
  ): Case =>
    asynchronous(name, batch, signOther, async (delivery) => {
      await handle(verify(delivery));
      return hasHandled();
    });

  return [
    ours("ours", batch, sign, () => makeOurs(handle)),
    other("floor: HMAC + JSON.parse", sign, ({ headers, body: bytes }) => {
      createHmac("sha256", SECRET)
        .update(`v1:${headers["x-webhook-timestamp"]}:${headers["x-webhook-id"]}:`)
        .update(bytes)
        .digest();
      return JSON.parse(bytes.toString("utf8"));
    }),
    other("hand-written: verify + JSON.parse", sign, (delivery) =>
      receiveByHand(SECRET, delivery.headers, delivery.body),
    ),
    asynchronous(
      "hand-written: + lru-cache + zod",
      batch,
      sign,
      async ({ headers, body: bytes }) => (await byHand(headers, bytes)) === "handled",
      () => {
        byHand = createAsyncReceiverByHand(SECRET, handle);
      },
    ),
    other(
      "standardwebhooks",
      () => standardHeaders("webhook", body),
      (headers) => standard.verify(body.bytes, headers),
    ),
    other(
      "svix",
      () => standardHeaders("svix", body),
      (headers) => {
        // It throws if the signature is bad, and leaves the parsing to its caller.
        svix.verify(body.bytes, headers);
        return JSON.parse(body.bytes.toString("utf8"));
      },
    ),
    other(
      "stripe constructEvent",
      () => stripeHeader(body),
      (header) => stripe.webhooks.constructEvent(body.bytes, header, SECRET),
    ),
    asynchronous(
      "octokit verifyAndReceive",
      batch,
      () => ({ id: newId(), name: "ping", payload: text, signature: githubSignature(body) }),
      async (event) => {
        await octokit.verifyAndReceive(event);
        return hasHandled();
      },
    ),
  ];
}

/** The handlers of all deliveries of a batch wait until all of them run. */
export function inFlightCases(body: Body, batch: number): Case[] {
  const sign = () => gatewayDelivery(body);
  let opened = Promise.resolve();
  const wait = async (): Promise<void> => opened;
  const inFlight = (
    name: string,
    make: () => (delivery: GatewayDelivery) => Promise<boolean>,
  ): Case => {
    let receive = make();
    const receiveAll = async (deliveries: readonly GatewayDelivery[]): Promise<number> => {
      opened = new Promise((resolve) => setImmediate(resolve));
      const answers = await Promise.all(deliveries.map((delivery) => receive(delivery)));
      return answers.filter(Boolean).length;
    };
    return caseOf(name, batch, sign, receiveAll, () => {
      receive = make();
    });
  };
  return [
    inFlight("ours, 64 in flight", () => {
      const receiver = makeOurs(wait);
      return async (delivery) => (await receiver.receive(delivery)).outcome === "handled";
    }),
    inFlight("hand-written, 64 in flight", () => {
      const receive = createAsyncReceiverByHand(SECRET, wait);
      return async ({ headers, body: bytes }) => (await receive(headers, bytes)) === "handled";
    }),
  ];
}

/** The same body with several secrets, the matching one first and last. */
export function rotationCases(body: Body, batch: number): Case[] {
  const sign = () => gatewayDelivery(body);
  const handlers = { new_alarm: handle, delete_my_data_event: handle };
  return [
    ours("1 secret", batch, sign, () => makeOurs(handle)),
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
  const handlers = { new_alarm: handle };
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
