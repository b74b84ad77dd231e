import { setTimeout as wait } from "node:timers/promises";
import { isDeliveryId } from "../../src/delivery/headers.js";
import { ProbeError } from "../../kit/conformance/conformance-options.js";
import { createSender } from "../../kit/sending/sender.js";
import type { SenderOptions } from "../../kit/sending/target.js";
import { isLoopback } from "../../src/management/call-settings.js";
import { withScheme } from "../options/target-url.js";
import { UsageError } from "../exit.js";
import { sendFault } from "../send/exchange.js";

const PLACE = "{id}";

/** Fetches how often a delivery was handled. Rejects if the answer is not a count. */
export type HandledProbe = (id: string) => Promise<number>;

/** Reads the URL template of a probe. Throws `UsageError` for an invalid one. */
function readProbeUrl(template: string): URL {
  const given = withScheme(template);
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (!template.includes(PLACE) || (url?.protocol !== "http:" && url?.protocol !== "https:")) {
    throw new UsageError(`--handled must be an http or https URL with ${PLACE} in it`);
  }
  return url;
}

/** Makes the probe. It sends GET and reads a number from the body; 404 counts as 0. */
export function createHandledProbe(template: string, options: SenderOptions): HandledProbe {
  readProbeUrl(template);
  return async (id) => {
    const { status, count } = await ask(template, id, options);
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
  let answer = await ask(template, id, options);
  while (answer.status === 404 && performance.now() < until) {
    await wait(50);
    answer = await ask(template, id, options);
  }
  if (answer.count === undefined) throw wrongAnswer(answer.status);
}

async function ask(
  template: string,
  id: string,
  options: SenderOptions,
): Promise<{ readonly status: number; readonly count: number | undefined }> {
  const sender = createSender(
    withScheme(template).replaceAll(PLACE, encodeURIComponent(id)),
    options,
  );
  try {
    const { status, body } = await sender
      .send({ method: "GET", headers: [] })
      .catch((error: unknown) => {
        throw new ProbeError(`--handled got no answer: ${sendFault(error)}`, { cause: error });
      });
    const isCount = status === 200 && /^[0-9]{1,9}$/.test(body.trim());
    return { status, count: isCount ? Number(body) : undefined };
  } finally {
    sender.close();
  }
}

function wrongAnswer(status: number): Error {
  return new ProbeError(`--handled answered ${status}; expected 200 with a whole number`);
}

/** Whether the probe stays on this machine. */
export function isLocalProbe(template: string | undefined): boolean {
  return template === undefined || isLoopback(readProbeUrl(template));
}
