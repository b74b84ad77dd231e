import { invalidOption } from "../common/errors.js";
import { jsonOf } from "../common/json-text.js";
import { ownOptions } from "../common/option-checks.js";
import { isDeliveryId } from "../delivery/headers.js";
import { gatewayTimeMs } from "../records/gateway-time.js";

/**
 * A stored delivery attempt, as far as it is understood.
 *
 * @experimental
 */
export interface DeliveryAttempt {
  /** X-Webhook-Id. */
  readonly deliveryId: string;
  /** HTTP status of the receiver's answer. Undefined if none arrived. */
  readonly status: number | undefined;
  /** When the attempt was made. */
  readonly at: Date;
  /** The body that was sent, if the record has it. */
  readonly body?: string | undefined;
  /** The gateway's id of the attempt, if the record has it. */
  readonly attemptId?: string | undefined;
}

/**
 * Reads a stored attempt. The gateway does not document the fields, so you say where they are: `attemptReader` for plain
 * paths, or a function of your own. Undefined for a record that it cannot read.
 *
 * @experimental
 */
export type AttemptReader = (record: unknown) => DeliveryAttempt | undefined;

/**
 * Where the fields of an attempt are: dotted paths from the record, such as `response.status`. They also lead into
 * texts of JSON, as headers may be stored.
 *
 * @experimental
 */
export interface AttemptPaths {
  /** To X-Webhook-Id, which all attempts of a delivery share. The id of the attempt is another one. */
  readonly deliveryId: string;
  /** To the HTTP status: a number or a text of digits; missing, null, 0 or an empty text if no answer arrived. */
  readonly status: string;
  /** To the time: either date format of the gateway, or Unix seconds. */
  readonly at: string;
  /** To the body that was sent: a text, or JSON. Default none. */
  readonly body?: string | undefined;
  /** To the gateway's id of the attempt. Default none. */
  readonly attemptId?: string | undefined;
}

/** The names of `AttemptPaths`. */
export const ATTEMPT_PATH_NAMES = ["deliveryId", "status", "at", "body", "attemptId"] as const;

/**
 * Makes a reader of stored attempts. `npx identity-gateway-webhooks webhooks history --shape` shows where your gateway
 * has the fields.
 *
 * @example
 * const readAttempt = attemptReader({
 *   deliveryId: "request.headers.X-Webhook-Id", status: "response.status", at: "created_at",
 * });
 *
 * @throws ConfigurationError for an unknown or missing path.
 * @experimental
 */
export function attemptReader(paths: AttemptPaths): AttemptReader {
  const own = ownOptions("attemptReader", paths, ATTEMPT_PATH_NAMES);
  for (const name of ["deliveryId", "status", "at"] as const) {
    if (typeof own[name] !== "string" || own[name] === "") {
      throw invalidOption(`${name} must be a dotted path`);
    }
  }
  const find = (record: unknown, path: string | undefined): unknown =>
    path === undefined ? undefined : valueAt(record, path);
  return (record) => {
    const deliveryId = find(record, own.deliveryId);
    const at = timeOf(find(record, own.at));
    const status = statusOf(find(record, own.status));
    if (!isDeliveryId(deliveryId) || Number.isNaN(at) || status === UNREADABLE) return undefined;
    const body = bodyOf(find(record, own.body));
    const attemptId = find(record, own.attemptId);
    const isId = typeof attemptId === "string" || typeof attemptId === "number";
    return {
      deliveryId,
      at: new Date(at),
      status,
      ...(body === undefined ? {} : { body }),
      ...(isId ? { attemptId: String(attemptId) } : {}),
    };
  };
}

/** Own members only, also of a text of JSON. A name that contains a dot cannot be given. */
export function valueAt(record: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>((given, name) => {
    const value = typeof given === "string" ? jsonOf(given) : given;
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name))
      return undefined;
    return (value as Record<string, unknown>)[name];
  }, record);
}

const UNREADABLE = Symbol("a status that cannot be read");

/** Undefined if no answer arrived. Another text is not taken for that: it may be a status, as "200 OK" is. */
function statusOf(value: unknown): number | typeof UNREADABLE | undefined {
  if (value === undefined || value === null || value === "" || value === 0) return undefined;
  const status = typeof value === "string" && /^[0-9]{3}$/.test(value) ? Number(value) : value;
  return typeof status === "number" && status >= 100 && status <= 999 ? status : UNREADABLE;
}

/** Unix milliseconds; NaN for any other value, or a time that no Date can hold. */
export function timeOf(value: unknown): number {
  if (typeof value === "number") return new Date(value * 1000).getTime();
  return typeof value === "string" ? gatewayTimeMs(value) : Number.NaN;
}

/** JSON need not be the exact bytes: no signature is checked any more. */
function bodyOf(value: unknown): string | undefined {
  if (typeof value === "string") return value === "" ? undefined : value;
  return typeof value === "object" && value !== null ? JSON.stringify(value) : undefined;
}
