import { ProbeError } from "../../kit/conformance/conformance-options.js";
import { createSender } from "../../kit/sending/sender.js";
import type { SenderOptions } from "../../kit/sending/target.js";
import { UsageError } from "../exit.js";
import { readTargetUrl } from "../options/target-url.js";
import { sendFault } from "../send/exchange.js";

/** A behaviour of the endpoint's handler that two URLs switch on and off. */
export interface HandlerSwitch {
  /** Switches it on, awaits the work, and switches it off. */
  readonly during: <T>(work: () => Promise<T>) => Promise<T>;
  /** Switches it off if it is on, and for good: for a run that ends early. Never rejects. */
  readonly restore: () => Promise<void>;
  readonly urls: readonly URL[];
}

/** The options that name the URLs. */
export type SwitchValues = Readonly<
  Record<`while-${"failing" | "slow"}-${"on" | "off"}`, string | undefined>
>;

/**
 * Reads the options `--NAME-on` and `--NAME-off`. Undefined when neither is given. Throws `UsageError` for one
 * without the other. The switch sends POST and expects a 2xx.
 */
export function readHandlerSwitch(
  name: "while-failing" | "while-slow",
  values: SwitchValues,
  options: SenderOptions,
): HandlerSwitch | undefined {
  const [on, off] = [values[`${name}-on`], values[`${name}-off`]];
  if (on === undefined && off === undefined) return undefined;
  if (on === undefined || off === undefined) {
    throw new UsageError(`--${name}-on and --${name}-off belong together: pass both`);
  }
  const urls = { on: readTargetUrl(on), off: readTargetUrl(off) };
  let isOn = false;
  let isClosed = false;
  let turning: Promise<unknown> | undefined;

  const turn = async (way: "on" | "off"): Promise<void> => {
    const sender = createSender(urls[way], options);
    try {
      const { status } = await sender
        .send({ method: "POST", headers: [], body: new Uint8Array(0) })
        .catch((error: unknown) => {
          throw new ProbeError(`--${name}-${way} got no answer: ${sendFault(error)}`, {
            cause: error,
          });
        });
      if (status < 200 || status > 299) {
        throw new ProbeError(`--${name}-${way} answered ${status}; expected 2xx`);
      }
    } finally {
      sender.close();
    }
  };

  const following = (answered: Promise<void>): Promise<void> => {
    turning = answered.catch(() => undefined);
    return answered;
  };

  const turnOff = async (): Promise<void> => {
    if (!isOn) return;
    isOn = false;
    await following(turn("off"));
  };

  return {
    urls: [urls.on, urls.off],
    async during(work) {
      if (isClosed) throw new Error("the run has ended");
      // Before the answer: an endpoint may have switched although its answer was lost.
      isOn = true;
      try {
        await following(turn("on"));
      } catch (error) {
        await turnOff().catch(() => undefined);
        throw error;
      }
      try {
        return await work();
      } finally {
        await turnOff();
      }
    },
    async restore() {
      isClosed = true;
      // An "off" that overtakes its "on", or is cut by the end of the process, would leave the handler as it is now.
      await turning;
      await turnOff().catch(() => undefined);
    },
  };
}
