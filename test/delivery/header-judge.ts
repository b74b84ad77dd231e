import { expect } from "vitest";
import { verifySignature } from "../../src/index.js";
import type { WebhookHeaders } from "../../src/delivery/header-values.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { rawDelivery } from "../support/raw-delivery.js";
import { recordingReceiver } from "../support/recording-receiver.js";

/** A delivery that is handled if its headers are found. */
export const GENUINE = rawDelivery();
export const NAMES = Object.keys(GENUINE.headers) as (keyof typeof GENUINE.headers)[];
export type Name = (typeof NAMES)[number];

/**
 * The outcome of the genuine delivery with these headers, from both functions that read headers.
 */
export async function judge(headers: unknown) {
  const { receive, handled } = recordingReceiver();
  const request = { headers: headers as WebhookHeaders, body: GENUINE.body };
  const { outcome, status } = await receive(request);
  expect(handled).toHaveLength(outcome === "handled" ? 1 : 0);
  expect(status).toBe(outcome === "handled" ? 200 : 409);
  const verified = await verifySignature({ secret: TEST_SECRET, ...request });
  return { outcome, verified };
}

export const HANDLED = { outcome: "handled", verified: true };
export const MALFORMED = { outcome: "malformed", verified: false };

/** One of a name's letter cases, chosen by the bits of `mask`. */
export function inCase(name: string, mask: number): string {
  return Array.from(name, (letter, at) =>
    (mask >>> (at % 20)) & 1 ? letter.toUpperCase() : letter,
  ).join("");
}
