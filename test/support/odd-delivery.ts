import type { WireRequest } from "../../kit/sending/wire.js";
import { signed } from "./adapters/adapter-exchange.js";
import { alarm } from "./deliveries.js";

/** A body that changes when it is parsed and serialized again: odd white space and a repeated key. */
export const ODD_BODY = `\n {"alarm" :\t${JSON.stringify(alarm()).replace("{", '{"id":0,  ')}}\r\n`;

/** A genuine delivery with that body. */
export function oddDelivery(): Promise<WireRequest> {
  return signed({ body: ODD_BODY });
}
