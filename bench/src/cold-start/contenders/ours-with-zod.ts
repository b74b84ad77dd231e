import "identity-gateway-webhooks/schemas";

/** Ours, with the record schemas loaded before the first delivery, and with them zod. */
export { answer } from "./ours.js";
