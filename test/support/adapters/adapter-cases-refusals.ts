import type { WebhookOutcome } from "../../../src/index.js";
import type { WireRequest } from "../../../kit/sending/wire.js";
import { NOW_SECONDS, alarm } from "../deliveries.js";
import {
  bytesOf,
  ensureEqual,
  exchangeWith,
  headerOf,
  signed,
  withHeader,
  type AdapterCase,
  type ExchangeOptions,
} from "./adapter-exchange.js";

/** A request that must not reach a handler. */
function refused(
  id: string,
  title: string,
  [status, outcome]: readonly [number, WebhookOutcome],
  request: () => Promise<WireRequest>,
  options: ExchangeOptions = {},
): AdapterCase {
  return {
    id,
    title,
    run: (target) =>
      exchangeWith(target, options, async ({ expect, runs }) => {
        await expect(await request(), { status, outcome });
        ensureEqual("runs", runs.length, 0);
      }),
  };
}

const MISMATCH = [409, "signature_mismatch"] as const;
const MALFORMED = [409, "malformed"] as const;
const STALE = [409, "stale"] as const;
const UNRECOGNIZED = [503, "unrecognized"] as const;
const TOO_LARGE = [409, "body_too_large"] as const;

const ID = "x-webhook-id";
const TIMESTAMP = "x-webhook-timestamp";
const TYPE = "x-webhook-type";
const SIGNATURE = "x-webhook-signature";
const METHODS = ["PUT", "PATCH", "DELETE"];

/**
 * Requests that cannot be proven to be the gateway's, and those that it must not send: one for each
 * outcome, and those where the adapter matters. `receiverConformance` has the others.
 */
export const refusalCases: readonly AdapterCase[] = [
  refused("tampered", "a body that was changed is refused", MISMATCH, async () => ({
    ...(await signed()),
    body: bytesOf(JSON.stringify({ alarm: alarm({ account_id: 43 }) })),
  })),
  refused("no_body", "a delivery without its body is refused", MISMATCH, async () => ({
    ...(await signed()),
    body: undefined,
  })),
  refused("unsigned", "a delivery without a signature is refused", [409, "unsigned"], async () =>
    withHeader(await signed(), SIGNATURE),
  ),
  refused("stale", "a delivery from more than the tolerance ago is refused", STALE, () =>
    signed({ timestamp: NOW_SECONDS - 301 }),
  ),
  refused(
    "type_flip_alarm",
    "an alarm cannot be sent on as an event",
    [409, "type_mismatch"],
    async () => withHeader(await signed(), TYPE, "delete_my_data_event"),
  ),

  ...[ID, TIMESTAMP, TYPE].map((name) =>
    refused(`missing_${name}`, `a delivery without ${name} is refused`, MALFORMED, async () =>
      withHeader(await signed(), name),
    ),
  ),
  ...[ID, TIMESTAMP, TYPE, SIGNATURE].map((name) =>
    refused(`repeated_${name}`, `${name} given twice is refused`, MALFORMED, async () => {
      const request = await signed();
      const value = headerOf(request, name);
      return withHeader(request, name, value, value);
    }),
  ),

  refused(
    "invalid_utf8",
    "an authentic body that is not UTF-8 is not acknowledged",
    UNRECOGNIZED,
    () => signed({ body: Uint8Array.of(0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d) }),
  ),
  refused("empty_body", "an authentic empty body is not acknowledged", UNRECOGNIZED, () =>
    signed({ body: "" }),
  ),

  refused("too_large", "a body over maxBodyBytes is refused", TOO_LARGE, () => signed(), {
    maxBodyBytes: 100,
  }),
  refused(
    "too_large_chunked",
    "a body that grows beyond maxBodyBytes is refused",
    TOO_LARGE,
    async () => ({ ...(await signed()), chunked: true }),
    { maxBodyBytes: 100 },
  ),
  refused(
    "too_large_by_far",
    "a body far over maxBodyBytes is answered all the same",
    TOO_LARGE,
    async () => ({ ...(await signed()), body: new Uint8Array(3_000_000) }),
  ),
  refused(
    "too_large_reject",
    'with unverifiable: "reject", a body over maxBodyBytes is refused for good',
    [413, "body_too_large"],
    () => signed(),
    { maxBodyBytes: 100, unverifiable: "reject" },
  ),
  refused(
    "wrong_secret_reject",
    'with unverifiable: "reject", another secret is refused for good',
    [401, "signature_mismatch"],
    () => signed({ secret: "whsec_of_somebody_else" }),
    { unverifiable: "reject" },
  ),
  refused(
    "malformed_reject",
    'with unverifiable: "reject", a malformed header is refused for good',
    [400, "malformed"],
    async () => withHeader(await signed(), ID),
    { unverifiable: "reject" },
  ),

  ...["GET", "HEAD", "OPTIONS"].map((method) =>
    refused(
      `redirected_${method.toLowerCase()}`,
      `a delivery that a redirect turned into ${method} is refused, also with unverifiable: "reject"`,
      MALFORMED,
      async () => ({ ...(await signed()), method, body: undefined }),
      { unverifiable: "reject" },
    ),
  ),
  ...METHODS.map((method) =>
    refused(
      `method_${method.toLowerCase()}`,
      `${method} is not allowed`,
      [405, "method_not_allowed"],
      async () => {
        const request = await signed();
        return { ...request, method, body: method.startsWith("P") ? request.body : undefined };
      },
    ),
  ),
];
