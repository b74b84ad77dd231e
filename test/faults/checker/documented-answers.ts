/** Status of each outcome, as the design has it; written down once more, since it is what is judged. */
export const DOCUMENTED_STATUSES: Readonly<Record<string, number>> = {
  handled: 200,
  duplicate: 200,
  discarded: 200,
  unhandled: 200,
  in_flight: 409,
  reachable: 200,
  method_not_allowed: 405,
  malformed: 409,
  unsigned: 409,
  signature_mismatch: 409,
  stale: 409,
  type_mismatch: 409,
  body_too_large: 409,
  body_timeout: 408,
  body_consumed: 503,
  unrecognized: 503,
  handler_failed: 500,
  handler_timeout: 503,
  retry_later: 503,
  overloaded: 503,
  store_unavailable: 503,
  secret_unavailable: 503,
  draining: 503,
  internal_error: 500,
};

/** Outcomes that no request of the gateway may have. */
export const REFUSAL_OUTCOMES: readonly string[] = [
  ...["malformed", "unsigned", "signature_mismatch", "stale", "type_mismatch", "unrecognized"],
];

/** The only outcomes that a well-formed request without a good signature may have. */
export const FORGERY_OUTCOMES: readonly string[] = ["unsigned", "signature_mismatch"];
