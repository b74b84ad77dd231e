import { MAX_TIMER_MS } from "../../common/timers.js";
import type { OptionSpecs } from "./option-specs.js";

/** The options of a command that makes requests. */
export const CONNECTION_OPTIONS = {
  timeout: {
    kind: "whole",
    value: "<ms>",
    help: "When a request without an answer is given up. Milliseconds.",
    min: 1,
    max: MAX_TIMER_MS,
    fallback: 30_000,
  },
  insecure: {
    kind: "flag",
    help: "Takes any TLS certificate, as the gateway does with skip_ssl_verification.",
  },
} as const satisfies OptionSpecs;
