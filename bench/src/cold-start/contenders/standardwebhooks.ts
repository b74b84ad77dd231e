import { Webhook } from "standardwebhooks";
import type { Answer } from "../delivery.js";

/** It throws where the signature is not good. */
export const answer: Answer = ({ secret, headers, body }) =>
  typeof new Webhook(secret).verify(body, headers) === "object";
