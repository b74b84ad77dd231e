import { readJson } from "../records/decode.js";
import { placesOf, type Decoded, type DeliveryIssue } from "../records/decoded.js";
import {
  isOnlineDataEventType,
  ONLINE_DATA_EVENT_TYPES,
  type OnlineDataEvent,
} from "../records/online-data-event.js";
import type { WebhookType } from "../delivery/headers.js";
import type { DeliveryContext } from "./delivery-context.js";
import type { HandlerCall, WebhookHandlers, OnlineDataEventHandlers } from "./handlers.js";

/** What to do with a decoded delivery. */
export type Route =
  | RunRoute
  | { readonly kind: "unhandled"; readonly what: string; readonly advice?: undefined }
  | { readonly kind: "unrecognized"; readonly advice: string };

interface RunRoute extends HandlerCall {
  readonly kind: "run";
}

type AnyHandler = HandlerCall["handler"];

const UNKNOWN_EVENT_TYPE: readonly DeliveryIssue[] = [
  { path: ["event", "type"], message: 'expected a documented event type, or a "*" handler' },
];

/** Finds the handler for a delivery. The handlers must have passed `checkHandlers`. */
export class Routes {
  readonly #onAlarm: AnyHandler | undefined;
  /** The handler of all Online Data events; undefined if they are given by type, or not at all. */
  readonly #onEvent: AnyHandler | undefined;
  /** A Map, because an event type named like a member of `Object.prototype` must find nothing. */
  readonly #onEventType = new Map<string, AnyHandler>();
  readonly #onUnrecognized: WebhookHandlers["unrecognized"];
  /** How many event types of each webhook type have a handler; of alarms 1 or 0. */
  readonly handlers: Readonly<Record<WebhookType, number>>;

  constructor(handlers: WebhookHandlers) {
    // Own properties, as in `checkHandlers`. Bound, so that handlers written as methods find their `this`.
    const own: WebhookHandlers = Object.assign(Object.create(null) as object, handlers);
    this.#onAlarm = own.new_alarm?.bind(handlers) as AnyHandler | undefined;
    this.#onUnrecognized = own.unrecognized?.bind(handlers);
    const { delete_my_data_event: forEvents } = own;
    if (typeof forEvents === "function") this.#onEvent = forEvents.bind(handlers) as AnyHandler;
    else if (forEvents !== undefined) this.#bindEventHandlers(forEvents);
    const takesAll = this.#onEvent !== undefined || this.#onEventType.has("*");
    this.handlers = {
      new_alarm: this.#onAlarm === undefined ? 0 : 1,
      delete_my_data_event: takesAll ? ONLINE_DATA_EVENT_TYPES.length : this.#onEventType.size,
    };
  }

  /** The route of a decoded delivery. `claimedType` is the type in the header, for `unrecognized`. */
  find(decoded: Exclude<Decoded, { kind: "type_mismatch" }>, claimedType: string): Route {
    switch (decoded.kind) {
      case "new_alarm":
        if (this.#onAlarm === undefined) return { kind: "unhandled", what: decoded.kind };
        return { kind: "run", handler: this.#onAlarm, record: decoded.record };
      case "delete_my_data_event":
        return this.#routeOfEvent(decoded.record, claimedType);
      case "unrecognized":
        return this.#unrecognized(claimedType, decoded.issues);
    }
  }

  #bindEventHandlers(handlers: OnlineDataEventHandlers): void {
    const entries = Object.entries(handlers) as [string, AnyHandler | undefined][];
    for (const [type, handler] of entries) {
      if (handler !== undefined) this.#onEventType.set(type, handler.bind(handlers));
    }
  }

  #routeOfEvent(event: OnlineDataEvent, claimedType: string): Route {
    const handler =
      this.#onEvent ?? this.#onEventType.get(event.type) ?? this.#onEventType.get("*");
    if (handler !== undefined) return { kind: "run", handler, record: event };
    if (this.handlers.delete_my_data_event === 0)
      return { kind: "unhandled", what: "delete_my_data_event" };
    if (isOnlineDataEventType(event.type)) return { kind: "unhandled", what: event.type };
    // The gateway added this event type later, so the user did not leave it out on purpose: a 200 would
    // lose it.
    return this.#unrecognized(claimedType, UNKNOWN_EVENT_TYPE);
  }

  #unrecognized(type: string, issues: readonly DeliveryIssue[]): Route {
    const handler = this.#onUnrecognized;
    if (handler === undefined) return { kind: "unrecognized", advice: adviceFor(issues) };
    const run: AnyHandler = (_record, context) =>
      handler({ type, body: bodyAsSent(context), issues }, context);
    return { kind: "run", handler: run, record: undefined };
  }
}

/**
 * The body as it was sent; undefined if it is not JSON. Parsed again for each run: the record of an event has been
 * converted, and a run before this one, in a transaction that was rolled back, may have changed its body.
 */
function bodyAsSent({ rawBody }: DeliveryContext): unknown {
  try {
    return readJson(rawBody);
  } catch {
    return undefined;
  }
}

/** The advice in the log: where the shape is wrong. Issues hold no values of the body. */
function adviceFor(issues: readonly DeliveryIssue[]): string {
  return `${placesOf(issues)}. Give handlers.unrecognized to take it.`;
}
