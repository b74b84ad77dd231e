import { isDeliveryId, isDeliveryTimestamp } from "../../src/delivery/headers.js";
import { headerClue, type Clue, type DeliveryHeaderName } from "./finding.js";
import { isProperSignature } from "./mac-readings.js";
import { WEBHOOK_HEADER_NAMES, type WebhookHeaderTexts } from "./webhook-header-texts.js";

const TOKEN = "must be 1 to 128 characters of [0-9A-Za-z._-]";
const COLON = "has a colon, so a part of the signed body could be read as the id";

/** How each header breaks the grammar, in words. */
const GRAMMAR: Readonly<Record<DeliveryHeaderName, (text: string) => string | undefined>> = {
  "X-Webhook-Type": (text) => (isDeliveryId(text) ? undefined : TOKEN),
  "X-Webhook-Id": (text) => {
    const hasColon = text.includes(":");
    return isDeliveryId(text) ? undefined : hasColon ? COLON : TOKEN;
  },
  "X-Webhook-Timestamp": (text) =>
    isDeliveryTimestamp(text) ? undefined : "must be 1 to 12 digits",
  "X-Webhook-Signature": (text) =>
    isProperSignature(text) ? undefined : "must be v1= and 64 hexadecimal digits",
};

/** The headers that a receiver refuses whatever the signature: missing ones and those that break the grammar. */
export function refusedHeaders(headers: WebhookHeaderTexts): readonly Clue[] {
  const missing = WEBHOOK_HEADER_NAMES.filter((name) => headers[name].length === 0);
  if (missing.length === WEBHOOK_HEADER_NAMES.length) {
    const message = "All four X-Webhook- headers are missing.";
    return [{ code: "all_headers_missing", message }];
  }
  return WEBHOOK_HEADER_NAMES.flatMap((header): Clue[] => {
    const [first] = headers[header];
    if (first === undefined) return [headerClue("header_missing", header, "is missing")];
    const [{ code, message } = { code: undefined, message: "" }] = first.clues;
    if (code === "header_repeated") {
      // Which value is signed is not known yet.
      return [headerClue(code, header, "has more than one value")];
    }
    return code === undefined ? clueOf(header, first.text) : [{ code, header, message }];
  });
}

function clueOf(header: DeliveryHeaderName, text: string): Clue[] {
  const fault = GRAMMAR[header](text);
  if (fault === undefined) return [];
  if (header === "X-Webhook-Timestamp" && /^[0-9]{13}$/.test(text)) {
    return [headerClue("timestamp_unit", header, "has 13 digits, so it is in milliseconds")];
  }
  return [headerClue("header_malformed", header, fault)];
}

/** What a receiver refuses before it reads the headers: a method other than POST, and a body over its limit. */
export function refusedRequest(
  method: string | undefined,
  bodyBytes: number,
  maxBodyBytes: number,
): readonly Clue[] {
  const clues: Clue[] = [];
  if ((method ?? "POST").toUpperCase() !== "POST") {
    clues.push({ code: "method_not_post", message: "The method of the request is not POST." });
  }
  if (bodyBytes > maxBodyBytes) {
    const message = `The body has ${bodyBytes} bytes, and the receiver accepts at most ${maxBodyBytes}.`;
    clues.push({ code: "body_too_large", capturedBytes: bodyBytes, message });
  }
  return clues;
}
