import { GatewayWebhookError, brandErrors } from "../common/errors.js";
import { isPromise } from "../common/promises.js";
import type { StandardSchema, StandardSchemaIssue } from "./standard-schema.js";

/** The stable codes of `AlarmPayloadError`, one per cause. A minor version may add members. */
export type AlarmPayloadErrorCode =
  "empty_payload" | "invalid_json" | "schema_mismatch" | "async_schema";

/**
 * The payload of an alarm could not be read. Neither the message nor what a logger prints of this error
 * holds a part of the payload, which is personal data.
 */
export class AlarmPayloadError extends GatewayWebhookError<AlarmPayloadErrorCode> {
  static {
    brandErrors(this, "AlarmPayloadError");
  }

  /** The issues that the schema found. Not enumerable, because their messages may quote values. */
  declare readonly issues: readonly StandardSchemaIssue[];

  constructor(
    code: AlarmPayloadErrorCode,
    message: string,
    issues: readonly StandardSchemaIssue[] = [],
  ) {
    super(code, message);
    Object.defineProperty(this, "issues", { value: issues, enumerable: false });
  }
}

/**
 * Parses the vendor data of an alarm: `alarm.payload` is a JSON document in a string. With a synchronous Standard
 * Schema (zod, valibot, arktype, …) it is also validated, and the result has the schema's output type.
 *
 * ```ts
 * const { breach } = parseAlarmPayload(alarm, z.object({ breach: z.string() }));
 * ```
 *
 * @throws AlarmPayloadError if the payload is empty, is not JSON, or does not fit the schema. Catch it
 * if the alarm matters more than its details: thrown from a handler, it is answered 500 at every attempt.
 */
export function parseAlarmPayload(alarm: { readonly payload: string }): unknown;
/** With a synchronous Standard Schema: validates the payload and returns the schema's output type. */
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
    // Nothing awaits the result. Without this, a rejection would end the process.
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
    // No `cause`: its message quotes the payload.
    throw new AlarmPayloadError("invalid_json", "the payload is not JSON");
  }
}
