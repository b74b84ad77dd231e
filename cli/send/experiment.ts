import { randomUUID } from "node:crypto";
import { signedDelivery } from "../../kit/signed-delivery.js";
import { linesOf } from "../../kit/sending/wire.js";
import type { Content } from "./delivery-source.js";
import { flag, whole, type OptionSpecs, type Values } from "../options/option-specs.js";

/** The options that make a delivery invalid. A receiver must refuse it. */
export const EXPERIMENT_OPTIONS = {
  tamper: flag("Changes the body after it was signed."),
  stale: whole(
    "<seconds>",
    { min: 1, max: 315_360_000 },
    "Signs it with a timestamp that many seconds ago.",
  ),
  "wrong-secret": flag("Signs it with a made-up secret."),
} as const satisfies OptionSpecs;

/** A delivery on the wire, and the changes made to it. */
export type Prepared = Awaited<ReturnType<typeof prepareDelivery>>;

/** A secret that no receiver has. */
export function madeUpSecret(): string {
  return `whsec_wrong_${randomUUID()}`;
}

/** Signs a delivery, and makes it invalid as the options say. */
export async function prepareDelivery(
  { type, body }: Content,
  secret: string,
  id: string,
  values: Values<typeof EXPERIMENT_OPTIONS>,
) {
  const { tamper, stale, "wrong-secret": isWrong } = values;
  const timestamp = Math.floor(Date.now() / 1000) - (stale ?? 0);
  const signed = await signedDelivery({ type, body, secret, id, timestamp });
  return {
    request: {
      method: "POST",
      headers: linesOf(signed.headers),
      body: tamper ? tamperedBody(body) : body,
    },
    id,
    timestamp,
    /** Why a receiver must refuse it. Empty for a valid delivery. */
    experiments: [
      ...(tamper ? ["the body was changed after it was signed"] : []),
      ...(stale === undefined ? [] : [`it was signed ${stale} s ago`]),
      ...(isWrong ? ["it is signed with another secret"] : []),
    ],
  };
}

/** Changes the first digit, so that JSON stays valid JSON. Without a digit it changes the last byte. */
function tamperedBody(body: Uint8Array): Uint8Array {
  if (body.length === 0) return Uint8Array.of(0x20);
  const digit = body.findIndex(isDigit);
  const place = digit === -1 ? body.length - 1 : digit;
  return body.map((byte, at) => (at === place ? otherByte(byte) : byte));
}

/** Not zero: no number in JSON begins with it. */
function isDigit(byte: number): boolean {
  return byte >= 0x31 && byte <= 0x39;
}

function otherByte(byte: number): number {
  if (!isDigit(byte)) return byte ^ 1;
  return byte === 0x39 ? 0x38 : byte + 1;
}
