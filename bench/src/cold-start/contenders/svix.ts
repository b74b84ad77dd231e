import { Webhook } from "svix";
import type { Answer } from "../delivery.js";

/** Throws if the signature is bad. Leaves the parsing to its caller. */
export const answer: Answer = ({ secret, headers, body }) => {
  new Webhook(secret).verify(body, headers);
  return typeof JSON.parse(body) === "object";
};
