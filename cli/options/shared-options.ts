import { WEBHOOK_TYPES } from "../../src/common/gateway-facts.js";
import { isWebhookType, type WebhookType } from "../../src/delivery/headers.js";
import { UsageError } from "../exit.js";
import { MAX_TIMER_MS } from "../../src/common/timers.js";
import { INTEGER_OPTIONS } from "../../src/options/options.js";
import { flag, list, text, whole, type OptionSpecs, type WholeSpec } from "./option-specs.js";

/** The options of every command that sends requests. */
export const CONNECTION_OPTIONS = {
  timeout: whole(
    "<ms>",
    { min: 1, max: MAX_TIMER_MS, fallback: 30_000 },
    "How long to wait for an answer. Milliseconds.",
  ),
  insecure: flag("Accepts any TLS certificate, as the gateway does with skip_ssl_verification."),
} as const satisfies OptionSpecs;

/** The option of every command that must know how much a receiver reads. */
export const MAX_BODY_OPTION = whole(
  "<bytes>",
  INTEGER_OPTIONS.maxBodyBytes,
  "The largest body that the receiver reads.",
) satisfies WholeSpec;

/** The option of every command that makes records up. */
export const ACCOUNT_OPTION = list(
  "<id>",
  "An account of your test data that made-up records are about. May be repeated. Default: made-up accounts, from 2000000000 to 2147483647.",
);

/** The accounts that the option names. Throws `UsageError` for what is no id. */
export function accountIdsOf(given: readonly string[]): readonly number[] {
  if (given.every((id) => /^[0-9]{1,15}$/.test(id))) return given.map(Number);
  throw new UsageError("--account-id must be a whole number of at most 15 digits");
}

/** The option of every command that listens. */
export const HOST_OPTION = text(
  "<address>",
  "The address to listen on. Default 127.0.0.1, which only this machine can reach.",
);

/** The option of every command whose server a browser can reach. */
export const HOSTS_OPTION = list(
  "<name>",
  "A name by which browsers and other containers reach the server, with or without a port. May be repeated. Default: only its address, 127.0.0.1 and localhost.",
);

/** The option of every command that ends with one result. */
export const JSON_OPTION = flag(
  "Writes the result as one JSON document, and nothing else to standard output.",
);

/** The types that the option names. Throws `UsageError` for another. */
export function typesOf(given: readonly string[]): readonly WebhookType[] {
  if (!given.every(isWebhookType)) {
    throw new UsageError(`--type must be one of ${WEBHOOK_TYPES.join(", ")}`);
  }
  return given.length === 0 ? WEBHOOK_TYPES : [...new Set(given)];
}
