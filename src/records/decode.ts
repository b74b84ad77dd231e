import { GatewayWebhookError } from "../common/errors.js";
import type { ValueOrPromise } from "../common/promises.js";
import { requireOfNode } from "../common/runtime.js";
import type { Alarm } from "./alarm.js";
import type { Decoded, JsonObject } from "./decoded.js";
import type { OnlineDataEvent } from "./online-data-event.js";
import { isPlainAlarm, isPlainEventWithoutSite, isPlainSiteEvent } from "./plain-records.js";
import type * as Validation from "./validation.js";

// Strict, so that no two different byte strings decode to one text. A leading BOM is dropped.
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The JSON value of a body. Throws if it is not JSON in UTF-8. */
export function readJson(bytes: Uint8Array): unknown {
  return JSON.parse(utf8.decode(bytes));
}

/**
 * Decodes a signed body. The type comes from the body, which is signed, and `claimedType`, the unsigned
 * header, must agree: otherwise a captured alarm could be sent to another handler.
 *
 * A record that already has the documented types is returned as it is. Any other needs the schemas:
 * the first one loads them and is a promise, which rejects with `schema_load_failed` if that fails.
 */
export function decode(bytes: Uint8Array, claimedType: string): ValueOrPromise<Decoded> {
  let body: unknown;
  try {
    body = readJson(bytes);
  } catch {
    // The error is dropped: its message quotes the body.
    return unrecognized(undefined, "expected JSON in UTF-8");
  }
  if (!isObject(body)) return unrecognized(body, "expected an object");

  const hasAlarm = Object.hasOwn(body, "alarm");
  const hasEvent = Object.hasOwn(body, "event");
  if (hasAlarm && hasEvent) return unrecognized(body, "expected alarm or event, not both");
  if (hasAlarm) {
    if (claimedType !== "new_alarm") return { kind: "type_mismatch" };
    const { alarm } = body;
    if (isObject(alarm) && isPlainAlarm(alarm)) {
      return { kind: "new_alarm", record: alarm as unknown as Alarm };
    }
    return validation?.validateAlarm(body) ?? loadAndValidate("validateAlarm", body);
  }
  if (hasEvent) {
    if (claimedType !== "delete_my_data_event") return { kind: "type_mismatch" };
    const { event } = body;
    if (isObject(event) && (isPlainSiteEvent(event) || isPlainEventWithoutSite(event))) {
      return { kind: "delete_my_data_event", record: event as unknown as OnlineDataEvent };
    }
    return validation?.validateEvent(body) ?? loadAndValidate("validateEvent", body);
  }
  return unrecognized(body, "expected alarm or event");
}

/** The alarm or event of a signed body, of any shape; undefined if it has none. */
export function recordOf(bytes: Uint8Array): unknown {
  try {
    const { alarm, event } = Object(readJson(bytes)) as JsonObject;
    return alarm ?? event;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null;
}

function unrecognized(body: unknown, message: string): Decoded {
  return { kind: "unrecognized", body, issues: [{ path: [], message }] };
}

/** Set after the first load, so that later records are validated synchronously. */
let validation: typeof Validation | undefined;
/** The load that concurrent records share. */
let loading: Promise<typeof Validation> | undefined;

async function loadAndValidate(
  validate: "validateAlarm" | "validateEvent",
  body: JsonObject,
): Promise<Decoded> {
  loading ??= load().catch((error: unknown) => {
    // A failed load is not kept: the next record tries again.
    loading = undefined;
    throw new GatewayWebhookError(
      "schema_load_failed",
      "the record schemas could not be loaded: is zod installed, and is the package complete?",
      { cause: error },
    );
  });
  validation = await loading;
  return validation[validate](body);
}

/**
 * Node keeps a failed `import` until the process ends, even if its cause was too many open files for a
 * moment. `require` keeps no failure, so it is the second way to the same module.
 */
async function load(): Promise<typeof Validation> {
  try {
    return await import("./validation.js");
  } catch (error) {
    try {
      const nodeRequire = requireOfNode(import.meta.url);
      if (nodeRequire !== undefined) return nodeRequire("./validation.cjs") as typeof Validation;
    } catch {
      // The error of the import says more: it names the file that is missing.
    }
    throw error;
  }
}
