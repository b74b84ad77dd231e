import type { CaseContext } from "./case-context.js";
import { ConformanceFailure } from "./conformance-case.js";
import type { HandlerOption } from "./conformance-options.js";
import { isRetried } from "./receiver-answer.js";
import type { Delivery, DeliveryChanges } from "./test-deliveries.js";

/** Does `work` under an option that the rule needs. Returns its result, even if the option does not. */
export async function whileHandler<Result>(
  context: CaseContext,
  option: HandlerOption,
  work: () => Promise<Result>,
): Promise<Result> {
  let done: { readonly result: Result } | undefined;
  try {
    await context.settings[option]?.(async () => {
      done = { result: await work() };
    });
  } catch (error) {
    if (error instanceof ConformanceFailure) throw error;
    throw context.probeFailure(option, error);
  }
  if (done === undefined) {
    const name = context.settings.names[option];
    throw context.failure("probe_failed", `${name} must call and await its argument`);
  }
  return done.result;
}

/** A delivery whose handler has failed. Undefined for a queue, which may handle it by itself. */
export async function failedDelivery(
  context: CaseContext,
  changes?: DeliveryChanges,
): Promise<Delivery | undefined> {
  const delivery = await context.deliver(changes);
  const send = async () => [await context.send(delivery)];
  const [answer] = await whileHandler(context, "whileFailing", send);
  if (answer !== undefined && isRetried(answer)) return delivery;
  context.leaveUnjudged("handled_before_answer");
  return undefined;
}
