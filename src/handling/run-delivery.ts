import type { ValueOrPromise } from "../common/promises.js";
import { eventTypeOf } from "../records/online-data-event.js";
import type { DeliveryContext } from "./delivery-context.js";
import type { Delivery } from "./handling.js";
import type { DurationRecorder } from "../answer/observers.js";
import { runHandler, type HandlerCall, type HandlerResult } from "./run-handler.js";

/** Runs the handler of a delivery, observed if anyone observes it. Neither throws nor rejects. */
export function runDelivery(
  { call, trace }: Delivery,
  given: DeliveryContext,
): ValueOrPromise<HandlerResult> {
  const context = trace.recovered ? Object.assign(given, { recovered: true } as const) : given;
  const { observation, handlerDuration } = trace;
  if (observation === undefined) return timed(handlerDuration, call, context);
  const { id, type, takeover } = context;
  const eventType = type === "delete_my_data_event" ? eventTypeOf(trace.record) : undefined;
  const work = {
    ...({ kind: "delivery", id, type, takeover } as const),
    ...(eventType === undefined ? {} : { eventType }),
    ...(trace.recovered ? ({ recovered: true } as const) : {}),
    timestampMs: context.timestamp.getTime(),
    bytes: trace.bytes,
  };
  return observation.run(work, () => timed(handlerDuration, call, context));
}

/** Runs the handler, and measures it if anyone wants its duration. */
function timed(
  duration: DurationRecorder | undefined,
  call: HandlerCall,
  context: DeliveryContext,
): ValueOrPromise<HandlerResult> {
  if (duration === undefined) return runHandler(call, context);
  const startedAt = performance.now();
  const record = () => {
    duration.record((performance.now() - startedAt) / 1000);
  };
  const result = runHandler(call, context);
  if ("then" in result) void result.then(record);
  else record();
  return result;
}
