import { INTEGER_OPTIONS } from "../../options/options.js";
import type { WholeSpec } from "./option-specs.js";

/** The option of a command that has to know how much a receiver reads. */
export const MAX_BODY_OPTION = {
  kind: "whole",
  value: "<bytes>",
  help: "The largest body that the receiver reads.",
  ...INTEGER_OPTIONS.maxBodyBytes,
} as const satisfies WholeSpec;
