import { isDeliveryId } from "../../delivery/headers.js";
import { createSender } from "../../testing/sending/sender.js";
import type { SenderOptions } from "../../testing/sending/target.js";
import { isLoopback } from "../options/target-url.js";
import { UsageError } from "../exit.js";

const PLACE = "{id}";

/** Asks how often a delivery was handled. Rejects where the answer is no count. */
export type HandledProbe = (id: string) => Promise<number>;

/** Reads the template of a probe's URL. Throws `UsageError` where it is none. */
function readProbeUrl(template: string): URL {
  const url = URL.canParse(template) ? new URL(template) : undefined;
  if (!template.includes(PLACE) || (url?.protocol !== "http:" && url?.protocol !== "https:")) {
    throw new UsageError(`--handled has to be an http or https URL with ${PLACE} in it`);
  }
  return url;
}

/** Makes the probe: GET, and the answer's body is a number; 404 is 0. */
export function createHandledProbe(template: string, options: SenderOptions): HandledProbe {
  readProbeUrl(template);
  return async (id) => {
    const sender = createSender(template.replaceAll(PLACE, encodeURIComponent(id)), options);
    try {
      const { status, body } = await sender.send({ method: "GET", headers: [] });
      if (status === 200 && /^[0-9]{1,9}$/.test(body.trim())) return Number(body);
      // An id beyond the grammar may have no URL of its own: that of the empty one is the folder.
      if (status === 404 || !isDeliveryId(id)) return 0;
      throw new Error(`--handled answered ${status}, and not 200 with a whole number`);
    } finally {
      sender.close();
    }
  };
}

/** Whether all that is asked is on this machine. */
export function isLocalProbe(template: string | undefined): boolean {
  return template === undefined || isLoopback(readProbeUrl(template));
}
