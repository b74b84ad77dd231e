import type { WireRequest } from "../../../src/testing/sending/wire.js";
import { signed } from "../adapters/adapter-exchange.js";
import { alarm } from "../deliveries.js";

/** Parsed and serialised again, it is another one: odd white space and a key given twice. */
export const ODD_BODY = `\n {"alarm" :\t${JSON.stringify(alarm()).replace("{", '{"id":0,  ')}}\r\n`;

/** A genuine delivery of it. */
export function oddDelivery(): Promise<WireRequest> {
  return signed({ body: ODD_BODY });
}
