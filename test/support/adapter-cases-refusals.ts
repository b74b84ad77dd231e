import type { Outcome } from "../../src/index.js";
import { NOW_SECONDS, alarm, onlineDataEvent } from "./deliveries.js";
import {
  bytesOf,
  ensureEqual,
  exchangeWith,
  headerOf,
  signed,
  withHeader,
  type AdapterCase,
  type AdapterRequest,
  type ExchangeOptions,
} from "./adapter-exchange.js";

/** A request that must not reach a handler. */
function refused(
  id: string,
  title: string,
  [status, outcome]: readonly [number, Outcome],
  request: () => Promise<AdapterRequest>,
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
const HEX = "0123456789abcdef".repeat(4);

/** What each header must not be, beside missing and repeated. */
const MALFORMED_VALUES: readonly (readonly [name: string, value: string])[] = [
  [ID, ""],
  [ID, "a:b"],
  [ID, "a b"],
  [ID, "a,b"],
  [ID, "é"],
  [ID, "x".repeat(129)],
  [TIMESTAMP, ""],
  [TIMESTAMP, "-1760000000"],
  [TIMESTAMP, "+1760000000"],
  [TIMESTAMP, "1760000000.0"],
  [TIMESTAMP, "1.76e9"],
  [TIMESTAMP, "0x68e77800"],
  [TIMESTAMP, "1760000000000"],
  [TYPE, ""],
  [TYPE, "new alarm"],
  [TYPE, "new_alarm:x"],
  [SIGNATURE, ""],
  [SIGNATURE, HEX],
  [SIGNATURE, `v1=${HEX.slice(1)}`],
  [SIGNATURE, `v1=${HEX}0`],
  [SIGNATURE, `v1=${HEX.slice(1)}g`],
  [SIGNATURE, `v2=${HEX}`],
  [SIGNATURE, `V1=${HEX}`],
  [SIGNATURE, `v1= ${HEX}`],
];

const METHODS = ["GET", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE"];

/** Requests that are not, or not provably, the gateway's, and what it must not have sent. */
export const refusalCases: readonly AdapterCase[] = [
  refused("tampered", "a body that was changed is refused", MISMATCH, async () => ({
    ...(await signed()),
    body: bytesOf(JSON.stringify({ alarm: alarm({ account_id: 43 }) })),
  })),
  refused("wrong_secret", "a signature by another secret is refused", MISMATCH, () =>
    signed({ secret: "whsec_of_somebody_else" }),
  ),
  refused("other_id", "a signature is good for its own id alone", MISMATCH, async () =>
    withHeader(await signed(), ID, "another-id"),
  ),
  refused("other_timestamp", "a signature is good for its own time alone", MISMATCH, async () =>
    withHeader(await signed(), TIMESTAMP, String(NOW_SECONDS + 1)),
  ),
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
  refused("future", "a delivery from more than the tolerance ahead is refused", STALE, () =>
    signed({ timestamp: NOW_SECONDS + 301 }),
  ),
  refused(
    "type_flip_alarm",
    "an alarm cannot be sent on as an event",
    [409, "type_mismatch"],
    async () => withHeader(await signed(), TYPE, "delete_my_data_event"),
  ),
  refused(
    "type_flip_event",
    "an event cannot be sent on as an alarm",
    [409, "type_mismatch"],
    async () => {
      const body = JSON.stringify({ event: onlineDataEvent("DATA_DELETED") });
      return withHeader(await signed({ type: "delete_my_data_event", body }), TYPE, "new_alarm");
    },
  ),
  refused("delimiter_into_id", "a part of the body cannot become part of the id", MALFORMED, () =>
    recut((timestamp, id, first, rest) => [timestamp, `${id}:${first}`, rest]),
  ),
  refused("delimiter_into_timestamp", "the id cannot become part of the time", MALFORMED, () =>
    recut((timestamp, id, first, rest) => [`${timestamp}:${id}`, first, rest]),
  ),

  ...[ID, TIMESTAMP, TYPE].map((name) =>
    refused(`missing_${name}`, `a delivery without ${name} is refused`, MALFORMED, async () =>
      withHeader(await signed(), name),
    ),
  ),
  ...[ID, TIMESTAMP, TYPE, SIGNATURE].flatMap((name) => [
    refused(`repeated_${name}`, `${name} given twice is refused`, MALFORMED, async () => {
      const request = await signed();
      const value = headerOf(request, name);
      return withHeader(request, name, value, value);
    }),
    refused(`ambiguous_${name}`, `${name} given two values is refused`, MALFORMED, async () => {
      const request = await signed();
      return withHeader(request, name, headerOf(request, name), "other");
    }),
  ]),
  ...MALFORMED_VALUES.map(([name, value], index) =>
    refused(`malformed_${String(index)}`, `${name}: "${value}" is refused`, MALFORMED, async () =>
      withHeader(await signed(), name, value),
    ),
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
  refused("not_json", "an authentic body that is not JSON is not acknowledged", UNRECOGNIZED, () =>
    signed({ body: '{"alarm":' }),
  ),
  refused("not_an_object", "an authentic list is not acknowledged", UNRECOGNIZED, () =>
    signed({ body: "[]" }),
  ),
  refused("unknown_type", "an unknown webhook type is not acknowledged", UNRECOGNIZED, () =>
    signed({ type: "account_closed", body: '{"account":{}}' }),
  ),

  refused("too_large", "a body over maxBodyBytes is refused", TOO_LARGE, () => signed(), {
    maxBodyBytes: 100,
  }),
  refused(
    "too_large_chunked",
    "a body that turns out to be over maxBodyBytes is refused",
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

/** A signed delivery whose signed string is cut at other colons: the signature still fits it. */
async function recut(
  cut: (timestamp: string, id: string, first: string, rest: string) => [string, string, string],
): Promise<AdapterRequest> {
  const body = JSON.stringify({ alarm: alarm() });
  const request = await signed({ body });
  const colon = body.indexOf(":");
  const [timestamp, id, rest] = cut(
    headerOf(request, TIMESTAMP),
    headerOf(request, ID),
    body.slice(0, colon),
    body.slice(colon + 1),
  );
  const moved = withHeader(withHeader(request, TIMESTAMP, timestamp), ID, id);
  return { ...moved, body: bytesOf(rest) };
}
