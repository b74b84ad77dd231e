import { Webhook } from "svix";
import type { Answer } from "../delivery.js";

/** It throws where the signature is not good, and leaves the parsing to its caller. */
export const answer: Answer = ({ secret, headers, body }) => {
  new Webhook(secret).verify(body, headers);
  return typeof JSON.parse(body) === "object";
};
