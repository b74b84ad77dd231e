import { receiveByHand } from "../../handwritten/verify.js";
import type { Answer } from "../delivery.js";

/** By hand, with nothing but Node. */
export const answer: Answer = ({ secret, headers, body }) =>
  receiveByHand(secret, headers, Buffer.from(body)) !== undefined;
