import type { PersonalDataKind } from "./personal-data.js";

/** Personal data that was left in a fixture. */
export interface PersonalDataFinding {
  readonly kind: PersonalDataKind;
  /**
   * Where, as in `RedactionRules`: `alarm.payload.matched.value`. `*` for a key that no rule names, since
   * it may be what was found. `body` or `fixture` where it lies in no value of its own.
   */
  readonly path: string;
}

/** A delivery that was not recorded, and why. Holds nothing of its body. */
export type FixtureRefusal = {
  /** X-Webhook-Type; `unknown_type` for one that is not documented. */
  readonly type: string;
} & (
  | {
      /** What is left after redaction looks personal: some `keepKeys` or `keepValues` allows too much. */
      readonly reason: "personal_data";
      readonly findings: readonly PersonalDataFinding[];
    }
  | {
      /** The file could not be written; nothing of it is left behind where the folder can be written to. */
      readonly reason: "write_failed";
      /** What the file system said: code and path. */
      readonly error: unknown;
    }
  | {
      /** More deliveries wait to be written than are held: see `recordFixtures`. */
      readonly reason: "overloaded";
    }
  | {
      /** The clock shows no moment of the years 0 to 9999, or the handler has changed the request. */
      readonly reason: "unreadable";
    }
  | {
      /** A bug of ours. The error is left out, as it may quote the body. */
      readonly reason: "internal_error";
    }
);
