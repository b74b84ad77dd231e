import Stripe from "stripe";
import type { Answer } from "../delivery.js";

/** Throws if the signature is bad. */
export const answer: Answer = ({ secret, headers, body }) => {
  const stripe = new Stripe("sk_test_synthetic");
  const header = headers["stripe-signature"] ?? "";
  return typeof stripe.webhooks.constructEvent(body, header, secret) === "object";
};
