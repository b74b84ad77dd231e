import { createHmac } from "node:crypto";
import {
  diagnoseSignature,
  type DiagnoseSignatureOptions,
} from "../../kit/diagnosis/diagnose-signature.js";
import { sampleOnlineDataEvent } from "../../kit/samples/sample-online-data-event.js";
import { alarm, NOW_MS, NOW_SECONDS, TEST_SECRET } from "../support/deliveries.js";

/** A secret that is not published, so that it is not found among the known secrets. */
export const SECRET = "whsec_Q2FuYXJ5U2VjcmV0MDEyMw";
export const ID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";
export const TIMESTAMP = String(NOW_SECONDS);
export { NOW_MS, TEST_SECRET };

/** Contains what encodings change: letters outside ASCII, slashes, <, &, quotes, a number that ends in zero. */
export const ALARM_BODY = JSON.stringify({
  alarm: alarm({
    text: 'Ålarm – <b>"canary" & co</b>, it\'s = at https://shop.example/å',
    payload: JSON.stringify({ site: "https://canary.example/x", ratio: "1.50", name: "Åsa" }),
  }),
}).replace('"category_id":3', '"category_id":3,"score":1.50,"big":12345678901234567890');

export const ONLINE_DATA = sampleOnlineDataEvent("DATA_REAPPEARED", {}, { seed: 7 });
export const EVENT = JSON.stringify({ event: ONLINE_DATA });

/** Options of the diagnosis, and changes of the captured headers. */
export interface Capture extends Partial<DiagnoseSignatureOptions> {
  /** Header values that replace those of the delivery; undefined removes a header. */
  readonly change?: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** What is signed, and with which secret. */
export interface Signed {
  readonly secret?: string | Uint8Array;
  readonly body?: string | Uint8Array;
  readonly id?: string;
  readonly timestamp?: string;
}

/** The MAC of what is signed. Uses node:crypto, so that a bug of the library cannot hide itself. */
export function macOf(signed: Signed = {}): Buffer {
  const { secret = SECRET, body = ALARM_BODY, id = ID, timestamp = TIMESTAMP } = signed;
  return createHmac("sha256", secret).update(`v1:${timestamp}:${id}:`).update(body).digest();
}

/** Options of a diagnosis for a delivery that is signed as `signed` and captured as `capture`. */
export function captured(signed: Signed = {}, capture: Capture = {}): DiagnoseSignatureOptions {
  const { change = {}, ...options } = capture;
  const { body = ALARM_BODY, id = ID, timestamp = TIMESTAMP } = signed;
  return {
    secret: SECRET,
    now: NOW_MS,
    body,
    headers: {
      "Content-Type": "application/json",
      "X-Webhook-Type": "new_alarm",
      "X-Webhook-Id": id,
      "X-Webhook-Timestamp": timestamp,
      "X-Webhook-Signature": `v1=${macOf(signed).toString("hex")}`,
      ...change,
    },
    ...options,
  };
}

/** Diagnoses a delivery that is signed as `signed` and captured as `capture`. */
export function diagnose(signed: Signed = {}, capture: Capture = {}) {
  return diagnoseSignature(captured(signed, capture));
}

/** The code of each finding, in order. */
export async function codesOf(signed: Signed, capture: Capture = {}): Promise<string[]> {
  return (await diagnose(signed, capture)).findings.map(({ code }) => code);
}

/** The headers of the delivery, as people have them. */
export const HEADERS = captured().headers as Record<string, string>;
export const LOWER = Object.fromEntries(
  Object.entries({ Host: "a.example", ...HEADERS }).map(([name, value]) => [
    name.toLowerCase(),
    value,
  ]),
);
export const PAIRS = Object.entries(HEADERS);
export const LINES = PAIRS.map(([name, value]) => `${name}: ${value}`);

/** As PHP and Python escape letters outside of ASCII. */
export function ascii(text: string): string {
  return text.replace(
    /[\u007f-\uffff]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

export function goEscapes(text: string): string {
  return text.replace(/[<>&]/g, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`);
}
