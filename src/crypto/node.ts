import { Buffer } from "node:buffer";
import * as nodeCrypto from "node:crypto";
import type { MacBackend } from "./backend.js";
import {
  createOneShotHmac,
  type OneShotHash,
  type OneShotHmac,
  type PaddedKey,
} from "./one-shot-hmac.js";

/** A secret in the forms that the two ways to its MAC want. */
interface NodeKey {
  readonly object: nodeCrypto.KeyObject;
  /** Undefined where there is no one-shot hash. */
  readonly padded: PaddedKey | undefined;
}

// A small array gets memory outside of the heap when it is passed to Node for the first time, which
// takes 0.3 µs: this one has it.
const given = Buffer.alloc(32);

/**
 * HMAC-SHA256 by `node:crypto`: synchronous, and several times faster than WebCrypto. Messages of up to
 * 32 KiB go through `hash`, where the runtime has it, larger ones through `createHmac`.
 */
export function createNodeBackend(hash: OneShotHash | undefined): MacBackend<NodeKey> {
  const oneShot = hash && tryOneShot(hash);

  const macOf = ({ object, padded }: NodeKey, prefix: string, body: Uint8Array): Buffer => {
    const mac = padded && oneShot?.mac(padded, prefix, body);
    if (mac !== undefined) return mac;
    return nodeCrypto.createHmac("sha256", object).update(prefix, "utf8").update(body).digest();
  };

  return {
    importKey(secret) {
      const bytes = Buffer.from(secret, "utf8");
      return { object: nodeCrypto.createSecretKey(bytes), padded: oneShot?.padKey(bytes) };
    },
    sign(key, prefix, body) {
      return macOf(key, prefix, body).toString("hex");
    },
    verify(key, prefix, body, mac) {
      const expected = macOf(key, prefix, body);
      given.set(mac);
      return nodeCrypto.timingSafeEqual(expected, given);
    },
  };
}

/**
 * The HMAC of a hash, if it is right here. Node 22.7 and imitations of Node have had the writers of
 * buffers wrong in several ways, by which every delivery would be refused.
 */
function tryOneShot(hash: OneShotHash): OneShotHmac | undefined {
  try {
    const oneShot = createOneShotHmac(hash);
    return TRIALS.every((trial) => isRight(oneShot, trial)) ? oneShot : undefined;
  } catch {
    return undefined;
  }
}

/** A key longer than a block and a short one; texts of one byte and of several; digests of all bits. */
const TRIALS = [
  { secret: "k".repeat(65), prefix: "v1:1760000000:6:", body: "{}" },
  { secret: "k", prefix: "v1:\u0136:", body: "" },
  { secret: "k", prefix: "", body: "\u00e5 longer than the one before" },
];

function isRight(oneShot: OneShotHmac, { secret, prefix, body }: (typeof TRIALS)[number]): boolean {
  const key = Buffer.from(secret);
  const mac = oneShot.mac(oneShot.padKey(key), prefix, Buffer.from(body));
  const right = nodeCrypto.createHmac("sha256", key).update(prefix).update(body).digest("hex");
  return mac?.toString("hex") === right;
}

/** The backend of this runtime. `hash` is missing before Node 20.12, and may be in what imitates Node. */
export const backend = createNodeBackend(nodeCrypto.hash);
