import { readJson } from "../records/decode.js";
import type { Decoded, DeliveryIssue } from "../records/decoded.js";
import type { DeliveryContext } from "./delivery-context.js";
import type { Handler, Handlers, OnlineDataEventHandlers } from "./handlers.js";
import type { Run } from "./run-handler.js";
import { isOnlineDataEventType, type OnlineDataEvent } from "../records/online-data-event.js";

/** What to do with a decoded delivery. */
export type Route =
  | RunRoute
  | { readonly kind: "unhandled"; readonly what: string; readonly advice?: undefined }
  | { readonly kind: "unrecognized"; readonly advice: string };

interface RunRoute extends Run {
  readonly kind: "run";
}

/** Finds the handler of a decoded delivery. `claimedType` is the header, for `unrecognized`. */
export type FindRoute = (
  decoded: Exclude<Decoded, { kind: "type_mismatch" }>,
  claimedType: string,
) => Route;

type EventHandler = Handler<OnlineDataEvent>;

const UNKNOWN_EVENT_TYPE: readonly DeliveryIssue[] = [
  { path: ["event", "type"], message: 'expected a documented event type, or a "*" handler' },
];

/** Makes the table of routes once; the handlers must have passed `checkHandlers`. */
export function createRoutes(handlers: Handlers): FindRoute {
  // Own properties, as in `checkHandlers`. Bound, so that handlers written as methods find their `this`.
  const own: Handlers = Object.assign(Object.create(null) as object, handlers);
  const alarmHandler = own.new_alarm?.bind(handlers);
  const unrecognized = own.unrecognized?.bind(handlers);
  const { delete_my_data_event: eventHandler } = own;
  const findEventHandler = createEventRoutes(
    typeof eventHandler === "function" ? eventHandler.bind(handlers) : eventHandler,
  );

  const asUnrecognized = (
    type: string,
    issues: readonly DeliveryIssue[],
    bodyOf: (context: DeliveryContext) => unknown,
  ): Route => {
    if (unrecognized === undefined) return { kind: "unrecognized", advice: describe(issues) };
    // Made for each run: a transactional store may run it again, after a run that has changed it.
    const handler: Handler<undefined> = (_record, context) =>
      unrecognized({ type, body: bodyOf(context), issues }, context);
    return runOf(handler, undefined);
  };

  return (decoded, claimedType) => {
    switch (decoded.kind) {
      case "new_alarm":
        if (alarmHandler === undefined) return { kind: "unhandled", what: decoded.kind };
        return runOf(alarmHandler, decoded.record);
      case "delete_my_data_event": {
        const { record } = decoded;
        const handler = findEventHandler(record.type);
        if (handler !== undefined) return runOf(handler, record);
        if (eventHandler === undefined) return { kind: "unhandled", what: decoded.kind };
        if (isOnlineDataEventType(record.type)) return { kind: "unhandled", what: record.type };
        // Nobody can have chosen to leave out a type that was added since: 200 would lose it. Read
        // once more for the handler that gets the body as it was sent: the record has been converted.
        return asUnrecognized(claimedType, UNKNOWN_EVENT_TYPE, ({ rawBody }) => readJson(rawBody));
      }
      case "unrecognized":
        return asUnrecognized(claimedType, decoded.issues, () => decoded.body);
    }
  };
}

function runOf<Record>(handler: Handler<Record>, record: Record): RunRoute {
  return { kind: "run", handler: handler as Handler<unknown>, record };
}

/** What a partner needs to see in the log: where the shape is off. Issues hold no values. */
function describe(issues: readonly DeliveryIssue[]): string {
  const places = issues.map(({ path, message }) => `${path.join(".") || "the body"}: ${message}`);
  return `${places.join("; ")}. Give handlers.unrecognized to take it.`;
}

function createEventRoutes(
  given: EventHandler | OnlineDataEventHandlers | undefined,
): (type: string) => EventHandler | undefined {
  if (given === undefined) return () => undefined;
  if (typeof given === "function") return () => given;
  // A Map, as an event type named like a member of Object.prototype would find that one.
  const byType = new Map<string, EventHandler>();
  for (const [type, handler] of Object.entries(given) as [string, EventHandler | undefined][]) {
    if (handler !== undefined) byType.set(type, handler.bind(given));
  }
  return (type) => byType.get(type) ?? byType.get("*");
}
