import { setTimeout as wait } from "node:timers/promises";
import { ProbeError } from "../../kit/conformance/conformance-options.js";
import { createSender } from "../../kit/sending/sender.js";
import type { SenderOptions } from "../../kit/sending/target.js";
import type { WireAnswer, WireRequest } from "../../kit/sending/wire.js";
import { isDeliveryId } from "../../src/delivery/headers.js";
import { isLoopback } from "../../src/management/call-settings.js";
import { UsageError } from "../exit.js";
import { readTargetUrl, withScheme } from "../options/target-url.js";
import { sendFault } from "../send/exchange.js";

const PLACE = "{id}";

/** Sends a request to a URL of an option. Rejects with a `ProbeError` if no answer arrives. */
async function call(
  option: string,
  url: string | URL,
  request: WireRequest,
  options: SenderOptions,
): Promise<WireAnswer> {
  const sender = createSender(url, options);
  try {
    return await sender.send(request);
  } catch (error) {
    throw new ProbeError(`--${option} got no answer: ${sendFault(error)}`, { cause: error });
  } finally {
    sender.close();
  }
}

/** Reads the URL template of a probe. Throws `UsageError` for an invalid one. */
function readProbeUrl(template: string): URL {
  const given = withScheme(template);
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (!template.includes(PLACE) || (url?.protocol !== "http:" && url?.protocol !== "https:")) {
    throw new UsageError(`--handled must be an http or https URL with ${PLACE} in it`);
  }
  return url;
}

/**
 * Makes the probe, which fetches how often a delivery was handled. It sends GET and reads a number from the body; 404
 * counts as 0. It rejects if the answer is not a count.
 */
export function createHandledProbe(
  template: string,
  options: SenderOptions,
): (id: string) => Promise<number> {
  readProbeUrl(template);
  return async (id) => {
    const { status, count } = await askCount(template, id, options);
    if (count !== undefined) return count;
    // An id outside of the grammar may have no URL of its own: the empty id gives the URL of the folder.
    if (status === 404 || !isDeliveryId(id)) return 0;
    throw wrongAnswer(status);
  };
}

/**
 * Asks the probe about a delivery that was acknowledged. Rejects if the answer is no count: also a 404, when it stays
 * for `handledWithinMs`. A count of 0 is an answer.
 */
export async function checkHandledProbe(
  template: string,
  id: string,
  handledWithinMs: number,
  options: SenderOptions,
): Promise<void> {
  const until = performance.now() + handledWithinMs;
  let answer = await askCount(template, id, options);
  while (answer.status === 404 && performance.now() < until) {
    await wait(50);
    answer = await askCount(template, id, options);
  }
  if (answer.count === undefined) throw wrongAnswer(answer.status);
}

async function askCount(template: string, id: string, options: SenderOptions) {
  const url = withScheme(template).replaceAll(PLACE, encodeURIComponent(id));
  const { status, body } = await call("handled", url, { method: "GET", headers: [] }, options);
  const isCount = status === 200 && /^[0-9]{1,9}$/.test(body.trim());
  return { status, count: isCount ? Number(body) : undefined };
}

function wrongAnswer(status: number): Error {
  return new ProbeError(`--handled answered ${status}; expected 200 with a whole number`);
}

/** Whether the URLs and the probe stay on this machine. */
export function isLocal(urls: readonly URL[], template: string | undefined): boolean {
  return [...urls, ...(template === undefined ? [] : [readProbeUrl(template)])].every(isLoopback);
}

/** Two URLs that switch a behaviour of the endpoint's handler on and off. Each gets POST, and answers 2xx. */
export class HandlerSwitch {
  readonly urls: { readonly on: URL; readonly off: URL };
  readonly #name: string;
  readonly #options: SenderOptions;
  #isOn = false;
  #isClosed = false;
  #turning: Promise<unknown> | undefined;

  constructor(name: string, on: string, off: string, options: SenderOptions) {
    this.#name = name;
    this.urls = { on: readTargetUrl(on), off: readTargetUrl(off) };
    this.#options = options;
  }

  /** Switches it on, awaits the work, and switches it off. */
  readonly during = async <T>(work: () => Promise<T>): Promise<T> => {
    if (this.#isClosed) throw new Error("the run has ended");
    // Before the answer: an endpoint may have switched although its answer was lost.
    this.#isOn = true;
    try {
      await this.#turn("on");
    } catch (error) {
      await this.#turnOff().catch(() => undefined);
      throw error;
    }
    try {
      return await work();
    } finally {
      await this.#turnOff();
    }
  };

  /** Switches it off if it is on, and for good: for a run that ends early. Never rejects. */
  async restore(): Promise<void> {
    this.#isClosed = true;
    // An "off" that overtakes its "on", or is cut by the end of the process, would leave the handler as it is now.
    await this.#turning;
    await this.#turnOff().catch(() => undefined);
  }

  async #turnOff(): Promise<void> {
    if (!this.#isOn) return;
    this.#isOn = false;
    await this.#turn("off");
  }

  #turn(way: "on" | "off"): Promise<void> {
    const option = `${this.#name}-${way}`;
    const request = { method: "POST", headers: [], body: new Uint8Array(0) };
    const turned = call(option, this.urls[way], request, this.#options).then(({ status }) => {
      if (status >= 200 && status <= 299) return;
      throw new ProbeError(`--${option} answered ${status}; expected 2xx`);
    });
    this.#turning = turned.catch(() => undefined);
    return turned;
  }
}

/**
 * Reads the options `--NAME-on` and `--NAME-off`. Undefined when neither is given. Throws `UsageError` for one
 * without the other.
 */
export function readHandlerSwitch(
  name: "while-failing" | "while-slow",
  values: Readonly<Record<`${typeof name}-${"on" | "off"}`, string | undefined>>,
  options: SenderOptions,
): HandlerSwitch | undefined {
  const [on, off] = [values[`${name}-on`], values[`${name}-off`]];
  if (on === undefined && off === undefined) return undefined;
  if (on !== undefined && off !== undefined) return new HandlerSwitch(name, on, off, options);
  throw new UsageError(`--${name}-on and --${name}-off belong together: pass both`);
}
