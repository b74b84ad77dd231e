import { backend } from "#crypto";
import { signatureFault } from "../delivery/header-faults.js";
import { isSignature } from "../delivery/headers.js";
import type { ValueOrPromise } from "../common/promises.js";
import type { SignedHead } from "./crypto/signed-head.js";
import { tryFirst, type Secrets } from "./secrets.js";

/** Whether a delivery is authentic, and which secret signed it; or the outcome if it is not. */
export type Authenticity =
  | { readonly authentic: true; readonly secretIndex: number | undefined }
  | {
      readonly authentic: false;
      readonly outcome: "unsigned" | "malformed" | "signature_mismatch" | "secret_unavailable";
      readonly error?: unknown;
      readonly fact?: () => string;
    };

const ACCEPTED: Authenticity = { authentic: true, secretIndex: undefined };
const UNSIGNED: Authenticity = { authentic: false, outcome: "unsigned" };
const MISMATCH: Authenticity = { authentic: false, outcome: "signature_mismatch" };
const MALFORMED: Authenticity = { authentic: false, outcome: "malformed", fact: signatureFault };

/**
 * Authenticates headers and bytes. Without a keyring (`acceptUnsignedDeliveries`) every well-formed
 * delivery counts as authentic. Neither throws nor rejects if the secret function fails.
 */
export async function authenticate<
  Headers extends SignedHead & { readonly signature: string | undefined },
>(
  keyring: { secretsFor(headers: Headers): ValueOrPromise<Secrets> } | undefined,
  headers: Headers,
  body: Uint8Array,
): Promise<Authenticity> {
  const { signature } = headers;
  if (keyring === undefined) {
    return signature === undefined || isSignature(signature) ? ACCEPTED : MALFORMED;
  }
  if (signature === undefined) return UNSIGNED;
  let secrets: ValueOrPromise<Secrets>;
  try {
    secrets = keyring.secretsFor(headers);
    if ("then" in secrets) secrets = await secrets;
  } catch (error) {
    return { authentic: false, outcome: "secret_unavailable", error };
  }
  // The secret that matched last comes first, so further ones cost time only for a forgery: 1.4 µs each for 1 KB.
  const { order } = secrets;
  for (const secret of order) {
    const matches = backend.verify(secret.key, headers, body, signature);
    if (typeof matches === "boolean" ? matches : await matches) {
      return { authentic: true, secretIndex: tryFirst(secret, secrets, order) };
    }
  }
  return isSignature(signature) ? MISMATCH : MALFORMED;
}
