import { gatewayTimeMs } from "../../src/records/gateway-time.js";

const DATE =
  /^\d{4}-\d{2}-\d{2}(?:([ Tt])\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}(?::?)\d{2})?)?$/;

/** Whether a text is a time in one of the gateway's two formats. */
export function isGatewayTime(text: string): boolean {
  return !Number.isNaN(gatewayTimeMs(text));
}

/** A fixed day in the format of `text`; undefined if `text` is not a real day or time. */
export function placeholderOfDate(text: string): string | undefined {
  const match = DATE.exec(text);
  if (match === null) return undefined;
  const [, separator, fraction = "", zone = ""] = match;
  if (!isGatewayTime(separator === undefined ? `${text} 00:00:00` : text)) return undefined;
  const time =
    separator === undefined
      ? ""
      : `${separator}04:05:06${fraction.replace(/\d/g, "0")}${zone.replace(/\d/g, "0")}`;
  return `2001-02-03${time}`;
}
