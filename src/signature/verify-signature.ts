import { readSignedHeaders, type WebhookHeaders } from "../delivery/header-values.js";
import { readBody, UnreadableBody } from "../delivery/request.js";
import { authenticate } from "./authenticate.js";
import { keysOf, type SecretList } from "./secrets.js";

/** The delivery to verify. */
export interface VerifySignatureOptions {
  /** The webhook's secret, or several. One of them must match. */
  secret: SecretList;
  /** `Headers`, or a record in any letter case. */
  headers: WebhookHeaders;
  /** The exact bytes; a string is taken as UTF-8. */
  body: Uint8Array | string;
}

/**
 * Whether a secret makes the signature in the headers over these bytes. It checks nothing else: no
 * freshness, no duplicates. A receiver checks everything, so use this only for one-off checks.
 *
 * Returns false for any other headers and body. Rejects with a `ConfigurationError` for a value
 * that cannot be a secret.
 */
export async function verifySignature(options: VerifySignatureOptions): Promise<boolean> {
  const secrets = { order: keysOf(options.secret) };
  const headers = readSignedHeaders(options.headers);
  if (headers === undefined) return false;
  const body = readBody(options.body, Number.POSITIVE_INFINITY);
  if (body instanceof UnreadableBody) return false;
  const { authentic } = await authenticate({ secretsFor: () => secrets }, headers, body);
  return authentic;
}
