import { unexpectedResult } from "../../common/errors.js";
import { CLAIMED, COMPLETED, TAKEN_OVER, inFlight, type ClaimResult } from "../delivery-store.js";
import type { AttributeValue, Attributes } from "./dynamo-client.js";

// One item a delivery. Layout version 1:
//   id              S     partition key: the version, a colon, and the delivery id
//   heldBy          S     the owner of the lease; absent once the delivery is completed
//   leaseEndsAt     N     the end of the lease in Unix milliseconds; 0 if a takeover was released
//   takeover        BOOL  true if an earlier lease ended without a result, otherwise absent
//   completedUntil  N     the end of the retention in Unix milliseconds; present once completed
//   expiresAt       N     when DynamoDB may delete the item (TTL), in Unix seconds
// Each write changes the state of an item as a whole. A release that changes this layout must change
// `LAYOUT_VERSION`.

/**
 * Version of the layout above, a part of each key: a release reads only items whose attributes it knows,
 * and after a rollback the older release finds its own items unchanged.
 */
const LAYOUT_VERSION = 1;

/** The partition key. */
export const KEY_ATTRIBUTE = "id";
/** The attribute for TTL. */
export const TTL_ATTRIBUTE = "expiresAt";

/**
 * TTL goes by the clock of AWS, and the store by the clocks of its hosts. The margin keeps TTL from deleting
 * an item too early, also if a host takes its local time for UTC.
 */
const TTL_MARGIN_MS = 86_400_000;

/** What an item says about its delivery. */
export type DeliveryState =
  | { readonly completedUntil: number }
  | { readonly heldBy: string; readonly leaseEndsAt: number; readonly takeover: boolean };

/** The key of a delivery. */
export function itemKey(id: string): Attributes {
  return { [KEY_ATTRIBUTE]: { S: `${String(LAYOUT_VERSION)}:${id}` } };
}

/** The item of a delivery. `keepUntil`: Unix milliseconds until which TTL must not delete it. */
export function itemOf(id: string, state: DeliveryState, keepUntil: number): Attributes {
  const ttl = { [TTL_ATTRIBUTE]: number(Math.ceil((keepUntil + TTL_MARGIN_MS) / 1000)) };
  if ("completedUntil" in state) {
    return { ...itemKey(id), completedUntil: number(state.completedUntil), ...ttl };
  }
  return {
    ...itemKey(id),
    heldBy: { S: state.heldBy },
    leaseEndsAt: number(state.leaseEndsAt),
    ...(state.takeover ? { takeover: { BOOL: true } } : {}),
    ...ttl,
  };
}

/** A number in the format of DynamoDB. */
export function number(value: number): AttributeValue {
  return { N: String(value) };
}

/** Reads an item. Throws `unexpected_result` if this store cannot have written it. */
export function readItem(item: Record<string, unknown>): DeliveryState {
  const attribute = (name: string) =>
    Object(item[name]) as { S?: unknown; N?: unknown; BOOL?: unknown };
  const completedUntil = Number(attribute("completedUntil").N);
  if (Number.isFinite(completedUntil)) return { completedUntil };
  const heldBy = attribute("heldBy").S;
  const leaseEndsAt = Number(attribute("leaseEndsAt").N);
  if (typeof heldBy !== "string" || !Number.isFinite(leaseEndsAt)) {
    throw unexpectedResult(
      "an item of the DynamoDB table was not written by this store: give the store a table of its own",
    );
  }
  return { heldBy, leaseEndsAt, takeover: attribute("takeover").BOOL === true };
}

/** What decides about a claim, beside the state of the delivery. Times are in milliseconds. */
interface ClaimAttempt {
  readonly owner: string;
  readonly leaseMs: number;
  readonly now: number;
  readonly clockSkewMs: number;
}

/**
 * The result of a claim by `owner` at `now` on a delivery in `state`; undefined is one without an item. A
 * host may be up to `clockSkewMs` ahead of the one that wrote the state, so what another owner wrote ends
 * that much later.
 */
export function claimResult(
  state: DeliveryState | undefined,
  { owner, leaseMs, now, clockSkewMs }: ClaimAttempt,
): ClaimResult {
  if (state === undefined) return CLAIMED;
  if ("completedUntil" in state) {
    return state.completedUntil + clockSkewMs > now ? COMPLETED : CLAIMED;
  }
  const isOwn = state.heldBy === owner;
  const leftMs = state.leaseEndsAt + (isOwn ? 0 : clockSkewMs) - now;
  if (leftMs <= 0) return TAKEN_OVER;
  // With the margin, more may be left than a whole lease.
  if (!isOwn) return inFlight(Math.min(leftMs, leaseMs));
  return state.takeover ? TAKEN_OVER : CLAIMED;
}
