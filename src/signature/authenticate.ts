import { signatureFault } from "../delivery/header-faults.js";
import { isSignature, type DeliveryHeaders } from "../delivery/headers.js";
import type { MaybeLater } from "../common/promises.js";
import type { Keyring } from "./secrets.js";
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

/** Authenticates headers and bytes. Neither throws nor rejects if the secret function fails. */
export type Authenticate = (headers: DeliveryHeaders, body: Uint8Array) => MaybeLater<Authenticity>;

const ACCEPTED: Authenticity = { authentic: true, secretIndex: undefined };
const UNSIGNED: Authenticity = { authentic: false, outcome: "unsigned" };
const MISMATCH: Authenticity = { authentic: false, outcome: "signature_mismatch" };
const MALFORMED: Authenticity = { authentic: false, outcome: "malformed", fact: signatureFault };

/** Without a keyring (`acceptUnsignedDeliveries`) every well-formed delivery counts as authentic. */
export function createAuthenticate(keyring: Keyring | undefined): Authenticate {
  if (keyring === undefined) {
    return ({ signature }) =>
      signature === undefined || isSignature(signature) ? ACCEPTED : MALFORMED;
  }

  return (headers, body) => {
    if (headers.signature === undefined) return UNSIGNED;
    let secrets: MaybeLater<Secrets>;
    try {
      secrets = keyring(headers);
    } catch (error) {
      return unavailable(error);
    }
    return "then" in secrets
      ? judgeLater(secrets, headers, headers.signature, body)
      : judge(secrets, headers, headers.signature, body);
  };
}

function judge(
  secrets: Secrets,
  headers: DeliveryHeaders,
  signature: string,
  body: Uint8Array,
): MaybeLater<Authenticity> {
  const index = matchSecret(secrets, headers, signature, body);
  return typeof index === "object"
    ? index.then((found) => authenticityOf(found, signature))
    : authenticityOf(index, signature);
}

/** A separate function, so that a request with static secrets allocates no closure. */
function judgeLater(
  secrets: Promise<Secrets>,
  headers: DeliveryHeaders,
  signature: string,
  body: Uint8Array,
): Promise<Authenticity> {
  return secrets.then((found) => judge(found, headers, signature, body), unavailable);
}

function authenticityOf(secretIndex: number | undefined, signature: string): Authenticity {
  if (secretIndex !== undefined) return { authentic: true, secretIndex };
  return isSignature(signature) ? MISMATCH : MALFORMED;
}

function unavailable(error: unknown): Authenticity {
  return { authentic: false, outcome: "secret_unavailable", error };
}
