import { readJson } from "../records/decode.js";
import { placesOf, type Decoded, type DeliveryIssue } from "../records/decoded.js";
import { isOnlineDataEventType, type OnlineDataEvent } from "../records/online-data-event.js";
import type { DeliveryContext } from "./delivery-context.js";
import type { Handler, Handlers, OnlineDataEventHandlers } from "./handlers.js";
import type { HandlerCall } from "./run-handler.js";

/** What to do with a decoded delivery. */
export type Route =
  | RunRoute
  | { readonly kind: "unhandled"; readonly what: string; readonly advice?: undefined }
  | { readonly kind: "unrecognized"; readonly advice: string };

interface RunRoute extends HandlerCall {
  readonly kind: "run";
}

type EventHandler = Handler<OnlineDataEvent>;

const UNKNOWN_EVENT_TYPE: readonly DeliveryIssue[] = [
  { path: ["event", "type"], message: 'expected a documented event type, or a "*" handler' },
];

/** Finds the handler for a delivery. The handlers must have passed `checkHandlers`. */
export class Routes {
  readonly #onAlarm: Handlers["new_alarm"];
  /** The handler of all Online Data events; undefined if they are given by type, or not at all. */
  readonly #onEvent: EventHandler | undefined;
  /** A Map, because an event type named like a member of `Object.prototype` must find nothing. */
  readonly #onEventType = new Map<string, EventHandler>();
  readonly #onUnrecognized: Handlers["unrecognized"];
  readonly #takesEvents: boolean;

  constructor(handlers: Handlers) {
    // Own properties, as in `checkHandlers`. Bound, so that handlers written as methods find their `this`.
    const own: Handlers = Object.assign(Object.create(null) as object, handlers);
    this.#onAlarm = own.new_alarm?.bind(handlers);
    this.#onUnrecognized = own.unrecognized?.bind(handlers);
    const { delete_my_data_event: forEvents } = own;
    this.#takesEvents = forEvents !== undefined;
    if (typeof forEvents === "function") this.#onEvent = forEvents.bind(handlers);
    else if (forEvents !== undefined) this.#bindEventHandlers(forEvents);
  }

  /** The route of a decoded delivery. `claimedType` is the type in the header, for `unrecognized`. */
  find(decoded: Exclude<Decoded, { kind: "type_mismatch" }>, claimedType: string): Route {
    switch (decoded.kind) {
      case "new_alarm":
        if (this.#onAlarm === undefined) return { kind: "unhandled", what: decoded.kind };
        return runRoute(this.#onAlarm, decoded.record);
      case "delete_my_data_event":
        return this.#routeOfEvent(decoded.record, claimedType);
      case "unrecognized":
        return this.#unrecognized(claimedType, decoded.issues, alwaysOf(decoded.body));
    }
  }

  #bindEventHandlers(handlers: OnlineDataEventHandlers): void {
    const entries = Object.entries(handlers) as [string, EventHandler | undefined][];
    for (const [type, handler] of entries) {
      if (handler !== undefined) this.#onEventType.set(type, handler.bind(handlers));
    }
  }

  #routeOfEvent(event: OnlineDataEvent, claimedType: string): Route {
    const handler =
      this.#onEvent ?? this.#onEventType.get(event.type) ?? this.#onEventType.get("*");
    if (handler !== undefined) return runRoute(handler, event);
    if (!this.#takesEvents) return { kind: "unhandled", what: "delete_my_data_event" };
    if (isOnlineDataEventType(event.type)) return { kind: "unhandled", what: event.type };
    // The gateway added this event type later, so the user did not leave it out on purpose: a 200 would
    // lose it. The record has been converted, but the handler gets the body as it was sent: parse it
    // again.
    return this.#unrecognized(claimedType, UNKNOWN_EVENT_TYPE, ({ rawBody }) => readJson(rawBody));
  }

  #unrecognized(
    type: string,
    issues: readonly DeliveryIssue[],
    bodyOf: (context: DeliveryContext) => unknown,
  ): Route {
    const handler = this.#onUnrecognized;
    if (handler === undefined) return { kind: "unrecognized", advice: adviceFor(issues) };
    // The record is made for each run: a transactional store may run the handler again, after a first run
    // that changed its record.
    const run: Handler<undefined> = (_record, context) =>
      handler({ type, body: bodyOf(context), issues }, context);
    return runRoute(run, undefined);
  }
}

/** In a function of its own: a closure in `find` would make V8 keep each decoded delivery on the heap. */
function alwaysOf(body: unknown): () => unknown {
  return () => body;
}

function runRoute<Record>(handler: Handler<Record>, record: Record): RunRoute {
  return { kind: "run", handler: handler as Handler<unknown>, record };
}

/** The advice in the log: where the shape is wrong. Issues hold no values of the body. */
function adviceFor(issues: readonly DeliveryIssue[]): string {
  return `${placesOf(issues)}. Give handlers.unrecognized to take it.`;
}
