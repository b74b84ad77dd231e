import { readSignedHeaders, type WebhookHeaders } from "../delivery/headers.js";
import { readBody, UnreadableBody } from "../delivery/request.js";
import { keysOf, type SecretList } from "./secrets.js";
import { matchSecret } from "./signature.js";

/** What is verified. */
export interface VerifySignatureOptions {
  /** The webhook's secret, or several, of which one must match. */
  secret: SecretList;
  /** `Headers`, or a record in any letter case. */
  headers: WebhookHeaders;
  /** The exact bytes; a string is taken as UTF-8. */
  body: Uint8Array | string;
}

/**
 * Whether a secret gives the signature in the headers over these bytes. Nothing else is checked: no
 * freshness, no duplicates. A receiver does all of it, so use this for one-off checks alone.
 *
 * False for whatever headers and body there may be; rejects with a `ConfigurationError` for a secret
 * that cannot be one.
 */
export async function verifySignature(options: VerifySignatureOptions): Promise<boolean> {
  const secrets = { order: keysOf(options.secret) };
  const headers = readSignedHeaders(options.headers);
  if (headers?.signature === undefined) return false;
  const body = readBody(options.body, Number.POSITIVE_INFINITY);
  if (body instanceof UnreadableBody) return false;
  const matched = await matchSecret(secrets, headers, headers.signature, body);
  return matched !== undefined;
}
