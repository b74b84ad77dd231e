import { signatureFault } from "../delivery/header-faults.js";
import { isSignature, type DeliveryHeaders } from "../delivery/headers.js";
import type { ValueOrPromise } from "../common/promises.js";
import type { Keyring } from "./keyring.js";
import { matchSecret, type Secrets } from "./signature.js";

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
export function authenticate(
  keyring: Keyring | undefined,
  headers: DeliveryHeaders,
  body: Uint8Array,
): ValueOrPromise<Authenticity> {
  const { signature } = headers;
  if (keyring === undefined) {
    return signature === undefined || isSignature(signature) ? ACCEPTED : MALFORMED;
  }
  if (signature === undefined) return UNSIGNED;
  let secrets: ValueOrPromise<Secrets>;
  try {
    secrets = keyring.secretsFor(headers);
  } catch (error) {
    return unavailable(error);
  }
  return "then" in secrets
    ? authenticateLater(secrets, headers, signature, body)
    : authenticateWith(secrets, headers, signature, body);
}

function authenticateWith(
  secrets: Secrets,
  headers: DeliveryHeaders,
  signature: string,
  body: Uint8Array,
): ValueOrPromise<Authenticity> {
  const index = matchSecret(secrets, headers, signature, body);
  if (index === undefined) return mismatchOf(signature);
  if (typeof index === "number") return { authentic: true, secretIndex: index };
  return index.then((secretIndex) =>
    secretIndex === undefined ? mismatchOf(signature) : { authentic: true, secretIndex },
  );
}

/** A separate function, so that a request with static secrets allocates no closure. */
function authenticateLater(
  secrets: Promise<Secrets>,
  headers: DeliveryHeaders,
  signature: string,
  body: Uint8Array,
): Promise<Authenticity> {
  return secrets.then((found) => authenticateWith(found, headers, signature, body), unavailable);
}

function mismatchOf(signature: string): Authenticity {
  return isSignature(signature) ? MISMATCH : MALFORMED;
}

function unavailable(error: unknown): Authenticity {
  return { authentic: false, outcome: "secret_unavailable", error };
}
