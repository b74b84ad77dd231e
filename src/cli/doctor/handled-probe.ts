import { isDeliveryId } from "../../delivery/headers.js";
import { createSender } from "../../testing/sending/sender.js";
import type { SenderOptions } from "../../testing/sending/target.js";
import { isLoopback, withScheme } from "../options/target-url.js";
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
    const url = withScheme(template).replaceAll(PLACE, encodeURIComponent(id));
    const sender = createSender(url, options);
    try {
      const { status, body } = await sender
        .send({ method: "GET", headers: [] })
        .catch((error: unknown) => {
          throw new Error(`--handled got no answer: ${sendFault(error)}`, { cause: error });
        });
      if (status === 200 && /^[0-9]{1,9}$/.test(body.trim())) return Number(body);
      // An id outside of the grammar may have no URL of its own: the empty id gives the URL of the folder.
      if (status === 404 || !isDeliveryId(id)) return 0;
      throw new Error(`--handled answered ${status}; expected 200 with a whole number`);
    } finally {
      sender.close();
    }
  };
}

/** Whether the probe stays on this machine. */
export function isLocalProbe(template: string | undefined): boolean {
  return template === undefined || isLoopback(readProbeUrl(template));
}
