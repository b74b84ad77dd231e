/** Documented status of each outcome. A second table on purpose: the first one is what is checked. */
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

/** Outcomes that no request from the gateway may have. */
export const REFUSAL_OUTCOMES: readonly string[] = [
  "malformed",
  "unsigned",
  "signature_mismatch",
  "stale",
  "type_mismatch",
  "unrecognized",
];

/** The only outcomes allowed for a well-formed request without a good signature. */
export const FORGERY_OUTCOMES: readonly string[] = ["unsigned", "signature_mismatch"];
