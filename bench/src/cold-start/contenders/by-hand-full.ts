import { createAsyncReceiverByHand } from "../../handwritten/full.js";
import type { Answer } from "../delivery.js";

/** By hand, with lru-cache and zod. */
export const answer: Answer = async ({ secret, headers, body }) => {
  const receive = createAsyncReceiverByHand(secret, () => Promise.resolve());
  return (await receive(headers, Buffer.from(body))) === "handled";
};
