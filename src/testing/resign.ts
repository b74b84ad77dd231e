import { signDelivery } from "../sign-delivery.js";
import { verifySignature } from "../verify-signature.js";
import type { Fixture } from "./fixture.js";

/** How fixtures are signed anew. */
export interface Resigning {
  readonly secret: string;
  /** The secret that the fixtures were signed with. */
  readonly fixtureSecret: string;
  /** The moment at which they are sent, in milliseconds. */
  readonly now: () => number;
  /** The id to send in place of one of a fixture. */
  readonly idFor: (id: string) => string;
}

const MAX_TIMESTAMP = 999_999_999_999;

/**
 * The headers of a fixture that is sent now: signed with the given secret, and as old as it was when it
 * was received, so that a stale one is stale again. The case of the signature's digits stays.
 *
 * One whose signature is not good keeps its headers. It is there to be refused as malformed, unsigned or
 * mismatching, all of which is judged before freshness, so its age does not matter; and a good signature
 * would have it pass.
 */
export async function resignedHeaders(
  { headers, body, receivedAt }: Fixture,
  { secret, fixtureSecret, now, idFor }: Resigning,
): Promise<Fixture["headers"]> {
  if (!(await verifySignature({ secret: fixtureSecret, headers, body }))) return headers;
  const ageMs = receivedAt.getTime() - 1000 * Number(textIn(headers, "x-webhook-timestamp"));
  const timestamp = Math.floor((now() - ageMs) / 1000);
  const id = idFor(textIn(headers, "x-webhook-id"));
  const signing = { secret, id, timestamp: Math.min(Math.max(timestamp, 0), MAX_TIMESTAMP), body };
  const signature = await signDelivery(signing);
  const isUpperCase = /[A-F]/.test(textIn(headers, "x-webhook-signature"));
  const replaced: Readonly<Record<string, string>> = {
    "x-webhook-id": id,
    "x-webhook-timestamp": String(signing.timestamp),
    "x-webhook-signature": isUpperCase ? `v1=${signature.slice(3).toUpperCase()}` : signature,
  };
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, replaced[name.toLowerCase()] ?? value]),
  );
}

/** A header that is given once, as those of a good signature are. */
function textIn(headers: Fixture["headers"], name: string): string {
  const [, value = ""] = Object.entries(headers).find(([key]) => key.toLowerCase() === name) ?? [];
  return String(value);
}
