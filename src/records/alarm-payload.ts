import { isPromise } from "../common/promises.js";
import type { StandardSchema, StandardSchemaIssue } from "./standard-schema.js";

/** The stable codes of `AlarmPayloadError`, one per cause. A minor version may add members. */
export type AlarmPayloadErrorCode =
  "empty_payload" | "invalid_json" | "schema_mismatch" | "async_schema";

/**
 * The payload of an alarm is not what was asked for. Neither its message nor anything that a logger
 * prints of it holds a part of the payload, which is full of personal data.
 */
export class AlarmPayloadError extends Error {
  override readonly name = "AlarmPayloadError";
  /** What the schema has against the payload. Not enumerable, as its messages may quote values. */
  declare readonly issues: readonly StandardSchemaIssue[];

  constructor(
    /** Which step failed. Stable, so that code can branch on it. */
    readonly code: AlarmPayloadErrorCode,
    message: string,
    issues: readonly StandardSchemaIssue[] = [],
  ) {
    super(message);
    Object.defineProperty(this, "issues", { value: issues, enumerable: false });
  }
}

/**
 * The structured vendor data of an alarm: `alarm.payload` is a JSON document in a string (GATEWAY.md,
 * "Alarm"). With a Standard Schema, also validated by it. The delivery itself does not depend on the
 * payload: a handler decides what to make of the error.
 *
 * @throws AlarmPayloadError where the payload is empty, is not JSON, or does not fit the schema.
 */
export function parseAlarmPayload(alarm: { readonly payload: string }): unknown;
export function parseAlarmPayload<Output>(
  alarm: { readonly payload: string },
  schema: StandardSchema<Output>,
): Output;
export function parseAlarmPayload(
  alarm: { readonly payload: string },
  schema?: StandardSchema<unknown>,
): unknown {
  const value = parseJson(alarm.payload);
  if (schema === undefined) return value;
  const result = schema["~standard"].validate(value);
  if (isPromise(result)) {
    // Its outcome is not waited for; without this its rejection would take the process down.
    result.then(undefined, () => undefined);
    throw new AlarmPayloadError(
      "async_schema",
      "the schema is asynchronous: give a synchronous one",
    );
  }
  if (result.issues !== undefined) {
    throw new AlarmPayloadError(
      "schema_mismatch",
      "the payload does not fit the schema",
      result.issues,
    );
  }
  return result.value;
}

function parseJson(payload: string): unknown {
  if (payload.trim() === "") throw new AlarmPayloadError("empty_payload", "the payload is empty");
  try {
    return JSON.parse(payload);
  } catch {
    // Without the cause: its message quotes the payload.
    throw new AlarmPayloadError("invalid_json", "the payload is not JSON");
  }
}
