import { createFullReceiverByHand } from "../../handwritten/full.js";
import type { Answer } from "../delivery.js";

/** By hand, with lru-cache and zod. */
export const answer: Answer = ({ secret, headers, body }) =>
  createFullReceiverByHand(secret, () => undefined)(headers, Buffer.from(body)) === "handled";
