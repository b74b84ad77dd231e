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

/** Why a delivery was not recorded, in a few words without a full stop. Holds nothing of its body. */
export function refusalSentence(refusal: FixtureRefusal): string {
  switch (refusal.reason) {
    case "personal_data": {
      const places = refusal.findings.map(({ kind, path }) => `${kind} at ${path}`);
      return `what is left of it still looks personal: ${places.join(", ")}`;
    }
    case "write_failed":
      return `its file could not be written: ${codeOf(refusal.error)}`;
    case "overloaded":
      return "too many wait to be written";
    case "unreadable":
      return "its headers or its moment cannot be read";
    case "internal_error":
      return "the recorder failed";
  }
}

function codeOf(error: unknown): string {
  const { code } = Object(error) as { code?: unknown };
  return typeof code === "string" ? code : "unknown error";
}

/** Says each reason once on the console, for who gives no `onRefused`. */
export function createRefusalWarning(): (refusal: FixtureRefusal) => void {
  const said = new Set<string>();
  return (refusal) => {
    if (said.has(refusal.reason)) return;
    said.add(refusal.reason);
    const advice = refusal.reason === "personal_data" ? " Keep less by redact." : "";
    const target: Pick<Console, "warn"> = console;
    target.warn(
      `identity-gateway-webhooks: a delivery was not recorded: ${refusalSentence(refusal)}.${advice} ` +
        "Said once for each reason; onRefused hears of all.",
    );
  };
}
