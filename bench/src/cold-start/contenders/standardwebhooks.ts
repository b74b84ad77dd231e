import { Webhook } from "standardwebhooks";
import type { Answer } from "../delivery.js";

/** Throws if the signature is bad. */
export const answer: Answer = ({ secret, headers, body }) =>
  typeof new Webhook(secret).verify(body, headers) === "object";
