import { LRUCache } from "lru-cache";
import * as z from "zod";
import { verifyByHand, type Headers } from "./verify.js";

const alarmBody = z.object({
  alarm: z.object({
    id: z.number().int(),
    text: z.string(),
    account_id: z.number().int(),
    severity: z.string(),
    status: z.string(),
    source: z.string(),
    event_type: z.string(),
    category_id: z.number().int(),
    original_event_id: z.string(),
    payload: z.string(),
    date: z.string(),
    checked_at: z.string(),
    created_at: z.string(),
    updated_at: z.string(),
  }),
});

const eventBody = z.object({
  event: z.object({
    type: z.string(),
    severity: z.string(),
    account_id: z.number().int(),
    client_id: z.string(),
    site_id: z.number().int().nullable(),
    site_name: z.string().nullable(),
    site_base_url: z.string().nullable(),
    occurred_at: z.string(),
  }),
});

/** The record of a body, checked by zod. Throws if the body does not match. */
function parseRecord(headers: Headers, body: Buffer): unknown {
  const parsed: unknown = JSON.parse(body.toString("utf8"));
  return headers["x-webhook-type"] === "new_alarm"
    ? alarmBody.parse(parsed).alarm
    : eventBody.parse(parsed).event;
}

/** The outcome of a delivery in a hand-written receiver. */
export type OutcomeByHand = "handled" | "duplicate" | "refused";

/** The receiver that a careful partner writes: verify, parse, validate, and handle each id once. */
export function createAsyncReceiverByHand(
  secret: string,
  handle: (record: unknown) => Promise<void>,
): (headers: Headers, body: Buffer) => Promise<OutcomeByHand> {
  const handled = new LRUCache<string, true>({ max: 100_000 });
  return async (headers, body) => {
    if (!verifyByHand(secret, headers, body)) return "refused";
    const id = headers["x-webhook-id"] as string;
    if (handled.has(id)) return "duplicate";
    await handle(parseRecord(headers, body));
    handled.set(id, true);
    return "handled";
  };
}
