/**
 * A delivery that was not recorded, and the reason. Contains no part of its body.
 *
 * @experimental
 */
export type FixtureRefusal = {
  /** X-Webhook-Type; `unknown_type` if it is not documented. */
  readonly type: string;
} & (
  | {
      /** The file could not be written. No part of it stays behind if the folder is writable. */
      readonly reason: "write_failed";
      /** The error of the file system, with code and path. */
      readonly error: unknown;
    }
  | {
      /** Too many deliveries wait to be written: see `recordFixtures`. */
      readonly reason: "overloaded";
    }
  | {
      /** The clock is outside the years 0 to 9999, or the handler has changed the request. */
      readonly reason: "unreadable";
    }
  | {
      /** A bug in the recorder. The error is left out, because it may quote the body. */
      readonly reason: "internal_error";
    }
);

const SENTENCES = {
  overloaded: "too many deliveries wait to be written",
  unreadable: "its headers or its time cannot be read",
  internal_error: "the recorder failed",
};

/** Why a delivery was not recorded, in a few words without a full stop. Contains no part of its body. */
export function refusalSentence(refusal: FixtureRefusal): string {
  if (refusal.reason === "write_failed") {
    return `its file could not be written: ${codeOf(refusal.error)}`;
  }
  return SENTENCES[refusal.reason];
}

function codeOf(error: unknown): string {
  const { code } = Object(error) as { code?: unknown };
  return typeof code === "string" ? code : "unknown error";
}

/** The default of `onRefused`: writes each reason to the console once. */
export function createRefusalWarning(): (refusal: FixtureRefusal) => void {
  const said = new Set<string>();
  return (refusal) => {
    if (said.has(refusal.reason)) return;
    said.add(refusal.reason);
    const target: Pick<Console, "warn"> = console;
    target.warn(
      `identity-gateway-webhooks: a delivery was not recorded: ${refusalSentence(refusal)}. ` +
        "Each reason is written once; onRefused is called for each delivery.",
    );
  };
}
