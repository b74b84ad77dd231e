import { ConfigurationError } from "../common/errors.js";
import { inheritedName, IS_INHERITED } from "../common/option-checks.js";
import type { DeliveryIssue } from "../records/decoded.js";
import type { DeliveryContext } from "./delivery-context.js";
import type { Alarm } from "../records/alarm.js";
import {
  ONLINE_DATA_EVENT_TYPES,
  isOnlineDataEventType,
  type KnownOnlineDataEvent,
  type OnlineDataEvent,
  type OnlineDataEventType,
} from "../records/online-data-event.js";

/**
 * Handles one record. It must await all its work: its return value is awaited and then ignored, and the
 * delivery counts as handled. An error that it throws is answered 500, unless it is `RetryLater` or
 * `DiscardDelivery`. A generator function is refused. With a `TransactionalStore<Tx>` its context is
 * `DeliveryContext<Tx>`.
 */
export type WebhookHandler<Record, Context = DeliveryContext> = (
  record: Record,
  context: Context,
) => unknown;

/** The handler to call for a delivery, and its record. Plain data costs less than a closure over both. */
export interface HandlerCall {
  /** Bound to the object that it is a method of. It may throw or reject. */
  readonly handler: WebhookHandler<unknown>;
  readonly record: unknown;
}

/** One handler for each event type, with exactly the fields of that type; `"*"` takes the others. */
export type OnlineDataEventHandlers<Context = DeliveryContext> = {
  readonly [Type in OnlineDataEventType]?:
    WebhookHandler<Extract<KnownOnlineDataEvent, { type: Type }>, Context> | undefined;
} & { readonly "*"?: WebhookHandler<OnlineDataEvent, Context> | undefined };

/**
 * One handler for all events. It has no event types: without their names here, the compiler could not tell how one of
 * `OnlineDataEventHandlers` is spelt that is misspelt.
 */
interface OnlineDataEventHandler<Context> extends NoEventTypes {
  (event: OnlineDataEvent, context: Context): unknown;
}
type NoEventTypes = Readonly<Partial<Record<OnlineDataEventType | "*", undefined>>>;

/** An authentic delivery that is not JSON, has no documented shape or has an unknown type. */
export interface UnrecognizedDelivery {
  /** X-Webhook-Type, which is not signed. */
  readonly type: string;
  /** The parsed JSON. Undefined if the body is not JSON; `context.rawBody` has its bytes. */
  readonly body: unknown;
  /** What was expected, and where. */
  readonly issues: readonly DeliveryIssue[];
}

/** The handlers of a receiver. At least one is required. */
export interface WebhookHandlers<Context = DeliveryContext> {
  /** Takes every alarm. */
  readonly new_alarm?: WebhookHandler<Alarm, Context> | undefined;
  /** Takes every Online Data event, with one function or by `event.type`. */
  readonly delete_my_data_event?:
    OnlineDataEventHandler<Context> | OnlineDataEventHandlers<Context> | undefined;
  /** Takes deliveries that the library does not recognize. When it finishes, they count as handled. */
  readonly unrecognized?: WebhookHandler<UnrecognizedDelivery, Context> | undefined;
}

const HANDLER_NAMES = ["new_alarm", "delete_my_data_event", "unrecognized"];
const EVENT_HANDLER_NAMES = [...ONLINE_DATA_EVENT_TYPES, "*"];

/** Checks the handlers. Throws `ConfigurationError` if one could never be called. */
export function checkHandlers(handlers: WebhookHandlers): void {
  const names = HANDLER_NAMES.join(", ");
  const entries = definedEntries("handlers", handlers, HANDLER_NAMES, `at least one of ${names}`);
  for (const [name, handler] of entries) {
    if (!HANDLER_NAMES.includes(name)) {
      throw new ConfigurationError(
        "unknown_handler",
        `handlers.${name} would never be called: use ${names}`,
      );
    }
    if (name === "delete_my_data_event" && typeof handler === "object" && handler !== null) {
      checkEventHandlers(handler);
    } else checkFunction(`handlers.${name}`, handler);
  }
}

function checkEventHandlers(handlers: object): void {
  const path = "handlers.delete_my_data_event";
  const advice = 'a function, or one for an event type or "*"';
  for (const [type, handler] of definedEntries(path, handlers, EVENT_HANDLER_NAMES, advice)) {
    if (type !== "*" && !isOnlineDataEventType(type)) {
      const known = ONLINE_DATA_EVENT_TYPES.join(", ");
      throw new ConfigurationError(
        "unknown_handler",
        `${path}.${type} is no event type: use ${known}, or "*"`,
      );
    }
    checkFunction(`${path}.${type}`, handler);
  }
}

function checkFunction(name: string, handler: unknown): void {
  if (typeof handler !== "function") {
    throw new ConfigurationError("invalid_handler", `${name} must be a function`);
  }
  // By its tag, because it may come from another realm. Calling a generator function runs no line of it.
  if (Object.prototype.toString.call(handler).endsWith("GeneratorFunction]")) {
    throw new ConfigurationError(
      "invalid_handler",
      `${name} is a generator function, whose body would never run: use a function or an async function`,
    );
  }
}

/** The own members of `object`. Throws if there is none, and for one of the `names` that is inherited. */
function definedEntries(
  path: string,
  object: unknown,
  names: readonly string[],
  advice: string,
): [string, unknown][] {
  const given = typeof object === "object" && object !== null ? object : {};
  const inherited = inheritedName(given, names);
  if (inherited !== undefined) {
    throw new ConfigurationError("invalid_handler", `${path}.${inherited} ${IS_INHERITED}`);
  }
  const entries = Object.entries(given).filter(([, value]) => value !== undefined);
  if (entries.length === 0) {
    throw new ConfigurationError("missing_handlers", `${path}: give ${advice}`);
  }
  return entries;
}
