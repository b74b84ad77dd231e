import { createHmac } from "node:crypto";
import { NOW_SECONDS, TEST_SECRET, alarm } from "./deliveries.js";

/** The signed parts as texts, which `signDelivery` may refuse. */
export interface RawDelivery {
  readonly secret?: string;
  readonly id?: string;
  readonly timestamp?: string;
  readonly type?: string;
  readonly body?: string | Uint8Array;
}

/** The MAC over any texts, made without the library, as by a sender who has the secret. */
export function rawSignature({ secret = TEST_SECRET, ...texts }: RawDelivery): string {
  const { id, timestamp, body } = withDefaults(texts);
  const mac = createHmac("sha256", secret).update(`v1:${timestamp}:${id}:`).update(body);
  return `v1=${mac.digest("hex")}`;
}

/** A delivery with a good signature over any texts. */
export function rawDelivery(delivery: RawDelivery = {}) {
  const { id, timestamp, type, body } = withDefaults(delivery);
  const headers = {
    "x-webhook-type": type,
    "x-webhook-id": id,
    "x-webhook-timestamp": timestamp,
    "x-webhook-signature": rawSignature(delivery),
  };
  return { method: "POST", headers, body };
}

function withDefaults({
  id = "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
  timestamp = String(NOW_SECONDS),
  type = "new_alarm",
  body = JSON.stringify({ alarm: alarm() }),
}: RawDelivery) {
  return { id, timestamp, type, body };
}
