import type { DeliveryHeaders } from "./headers.js";
import { isPromise, type MaybePromise } from "./maybe-promise.js";
import type { Keyring } from "./secrets.js";
import { matchSecret, type Secrets } from "./signature.js";

/** The delivery is the gateway's (`secretIndex` says by which secret), or why it is not taken for one. */
export type Authenticity =
  | { readonly authentic: true; readonly secretIndex: number | undefined }
  | {
      readonly authentic: false;
      readonly outcome: "unsigned" | "signature_mismatch" | "secret_unavailable";
      readonly error?: unknown;
    };

/** Judges headers and bytes. Neither throws nor rejects for a failing secret function. */
export type Authenticate = (
  headers: DeliveryHeaders,
  body: Uint8Array,
) => MaybePromise<Authenticity>;

const ACCEPTED: Authenticity = { authentic: true, secretIndex: undefined };
const UNSIGNED: Authenticity = { authentic: false, outcome: "unsigned" };
const MISMATCH: Authenticity = { authentic: false, outcome: "signature_mismatch" };

/** Without a keyring every delivery is taken for authentic: `acceptUnsignedDeliveries`. */
export function createAuthenticate(keyring: Keyring | undefined): Authenticate {
  if (keyring === undefined) return () => ACCEPTED;

  return (headers, body) => {
    if (headers.signature === undefined) return UNSIGNED;
    let secrets: MaybePromise<Secrets>;
    try {
      secrets = keyring(headers);
    } catch (error) {
      return unavailable(error);
    }
    return isPromise(secrets)
      ? judgeLater(secrets, headers, headers.signature, body)
      : judge(secrets, headers, headers.signature, body);
  };
}

function judge(
  secrets: Secrets,
  headers: DeliveryHeaders,
  signature: Uint8Array<ArrayBuffer>,
  body: Uint8Array,
): MaybePromise<Authenticity> {
  const index = matchSecret(secrets, headers, signature, body);
  return isPromise(index) ? index.then(authenticityOf) : authenticityOf(index);
}

/** Apart from `judge`, so that a request whose secrets are at hand makes no closure. */
function judgeLater(
  secrets: PromiseLike<Secrets>,
  headers: DeliveryHeaders,
  signature: Uint8Array<ArrayBuffer>,
  body: Uint8Array,
): PromiseLike<Authenticity> {
  return secrets.then((found) => judge(found, headers, signature, body), unavailable);
}

function authenticityOf(secretIndex: number | undefined): Authenticity {
  return secretIndex === undefined ? MISMATCH : { authentic: true, secretIndex };
}

function unavailable(error: unknown): Authenticity {
  return { authentic: false, outcome: "secret_unavailable", error };
}
