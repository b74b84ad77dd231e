import { MAX_TIMER_MS } from "../../src/common/timers.js";
import { INTEGER_OPTIONS } from "../../src/options/options.js";
import type { OptionSpecs, WholeSpec } from "./option-specs.js";

/** The options of every command that sends requests. */
export const CONNECTION_OPTIONS = {
  timeout: {
    kind: "whole",
    value: "<ms>",
    help: "How long to wait for an answer. Milliseconds.",
    min: 1,
    max: MAX_TIMER_MS,
    fallback: 30_000,
  },
  insecure: {
    kind: "flag",
    help: "Accepts any TLS certificate, as the gateway does with skip_ssl_verification.",
  },
} as const satisfies OptionSpecs;

/** The option of every command that must know how much a receiver reads. */
export const MAX_BODY_OPTION = {
  kind: "whole",
  value: "<bytes>",
  help: "The largest body that the receiver reads.",
  ...INTEGER_OPTIONS.maxBodyBytes,
} as const satisfies WholeSpec;

/** The option of every command that ends with one result. */
export const JSON_OPTION = {
  kind: "flag",
  help: "Writes the result as one JSON document, and nothing else to standard output.",
} as const;
