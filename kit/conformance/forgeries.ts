import { createHash, randomUUID } from "node:crypto";
import { gzipSync } from "node:zlib";
import type { CaseContext } from "./case-context.js";
import { deliveriesOfEachKind } from "./records.js";
import {
  each,
  ID,
  macOf,
  missingHeaders,
  reserializedBody,
  SIGNATURE,
  TIMESTAMP,
  TYPE,
  type Delivery,
  type MakeDelivery,
  type Named,
  type NamedDeliveries,
  unsignedRequest,
  wrongSecret,
} from "./test-deliveries.js";
import { withTrustedHeaders } from "./trusted-headers.js";

const FORM = "application/x-www-form-urlencoded";
/** The same forgery in forms for which a receiver may skip its check. */
export async function inOtherForms(
  context: CaseContext,
  forge: (deliver: MakeDelivery) => Promise<Named<Delivery>>,
): Promise<NamedDeliveries> {
  const { deliver } = context;
  const [, plain] = await forge(deliver);
  const gzipped = plain.withBody(gzipSync(plain.body));
  const [, unknown] = await forge((changes) => deliver({ type: "account_closed", ...changes }));
  const [, chunked] = await forge(deliver);
  return [
    ["with the content type text/plain", plain.withHeader("Content-Type", "text/plain")],
    ["with the content type of a form", plain.withHeader("Content-Type", FORM)],
    ["without Content-Type", plain.withHeader("Content-Type")],
    ["with an unknown X-Webhook-Type", unknown],
    ["compressed", gzipped.withHeader("Content-Encoding", "gzip")],
    ...(await withTrustedHeaders(context, forge)),
    ["without Content-Length", chunked.with({ chunked: true })],
  ];
}

const PREFIX = "v1=";
const DIGITS = 64;

/** Words in place of a signature, and others that are none. */
const INCOMPLETE: readonly Named<string>[] = [
  ["no digit", PREFIX],
  ["zeros", `${PREFIX}${"0".repeat(DIGITS)}`],
  ["the letter z for each digit", `${PREFIX}${"z".repeat(DIGITS)}`],
  ["another version", `v0=${"0".repeat(DIGITS)}`],
  ..."none v1=none v0= unsigned null undefined v1=undefined true * test v1=test v1=dev v1=skip"
    .split(" ")
    .map((word): Named<string> => [`the text ${word}`, word]),
];

/** A delivery with signatures that are almost the right one. */
export async function withChangedSignatures({ deliver }: CaseContext): Promise<NamedDeliveries> {
  const delivery = await deliver();
  const mac = delivery.header(SIGNATURE).slice(PREFIX.length);
  const changed: readonly Named<string>[] = [
    ["one digit too few", mac.slice(0, -1)],
    ...changedDigits(mac),
    ...otherOrders(mac),
    ["another letter case in base64", otherCaseInBase64(mac)],
  ];
  const signatures: readonly Named<string>[] = [
    ["only 8 digits", `${PREFIX}${mac.slice(0, 8)}`],
    ...INCOMPLETE,
    ...changed.map(([name, digits]): Named<string> => [name, `${PREFIX}${digits}`]),
  ];
  return signatures.map(([name, signature]) => [name, delivery.withHeader(SIGNATURE, signature)]);
}

/** Each digit by itself, since a comparison may skip any of them. */
function changedDigits(mac: string): readonly Named<string>[] {
  const changed = (at: number) => withChanged(mac, at, at + 1);
  return [
    ...Array.from(mac, (_, at): Named<string> => [`digit ${at + 1} changed`, changed(at)]),
    ["the first half changed", withChanged(mac, 0, DIGITS / 2)],
    ["the second half changed", withChanged(mac, DIGITS / 2, DIGITS)],
  ];
}

/** The same digits or the same sum in another order, for comparisons that add up or sort. */
function otherOrders(mac: string): readonly Named<string>[] {
  const bytes = Buffer.from(mac, "hex");
  const other = bytes.findIndex((byte) => byte !== bytes[0]);
  const swapped = Buffer.from(bytes);
  [swapped[0], swapped[other]] = [bytes[other] ?? 0, bytes[0] ?? 0];
  const balanced = Buffer.from(bytes);
  const low = bytes.findIndex((byte) => byte < 255);
  const high = bytes.findLastIndex((byte) => byte > 0);
  balanced[low] = (bytes[low] ?? 0) + 1;
  balanced[high] = (bytes[high] ?? 0) - 1;
  return [
    ["two bytes swapped", swapped.toString("hex")],
    ["one byte greater and another one smaller", balanced.toString("hex")],
    ["the bytes in reverse", Buffer.from(bytes).reverse().toString("hex")],
    ["the digits in reverse", Array.from(mac).reverse().join("")],
    ["the digits sorted", Array.from(mac).sort().join("")],
  ];
}

/** Other bytes that differ only in letter case when both are written as base64. */
function otherCaseInBase64(mac: string): string {
  const text = Buffer.from(mac, "hex").toString("base64");
  const changed = text.replace(/[a-z]/i, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  );
  return Buffer.from(changed, "base64").toString("hex");
}

/** The digits with those between two positions changed. */
function withChanged(mac: string, from: number, to: number): string {
  return mac.replace(/./g, (digit, at: number) =>
    at >= from && at < to ? (15 - Number.parseInt(digit, 16)).toString(16) : digit,
  );
}

const HOUR = 3_600;
const DAY = 24 * HOUR;

/** For clocks that are compared without their date, half of the day, week or year. */
const SPANS: readonly Named<number>[] = [
  ["12 hours", 12 * HOUR],
  ["a day", DAY],
  ["7 days", 7 * DAY],
  ["365 days", 365 * DAY],
];

/** Seconds from the receiver's time, in one direction. */
const AGES: readonly Named<number>[] = [
  // Also for receivers that compare the hour of a clock.
  ["31 minutes", 31 * 60],
  ["an hour", HOUR],
  ...SPANS.flatMap(([name, seconds]): readonly Named<number>[] => [
    [name, seconds],
    [`${name} and a minute`, seconds + 60],
    [`a minute less than ${name}`, seconds - 60],
  ]),
];

/** Deliveries that were signed an hour to a year ago. */
export async function staleDeliveries(context: CaseContext): Promise<NamedDeliveries> {
  const sinceEpoch = Math.floor(context.settings.now() / 1_000);
  const ages = AGES.map(([name, seconds]): Named<number> => [`${name} old`, seconds]);
  const plain = await signedAt(context, [...ages, ["the timestamp 0", sinceEpoch]]);
  const kinds = await each(await deliveriesOfEachKind(context), async ([kind, delivery]) => {
    const type = delivery.header(TYPE);
    const { id, body } = delivery;
    const old = await context.deliver({ id, body, type, age: HOUR });
    return [`${kind}, an hour old`, old] as const;
  });
  const trusted = await withTrustedHeaders(context, async (deliver) => [
    "an hour old",
    await deliver({ age: HOUR }),
  ]);
  return [...plain, ...kinds, ...trusted];
}

/** Deliveries that were signed an hour to a year in the future. */
export function futureDeliveries(context: CaseContext): Promise<NamedDeliveries> {
  const ages = AGES.map(([name, seconds]): Named<number> => [`${name} ahead`, -seconds]);
  return signedAt(context, [...ages, ["2^32 seconds ahead", -(2 ** 32)]]);
}

/** A delivery of each type for each age in seconds. */
function signedAt(context: CaseContext, ages: readonly Named<number>[]): Promise<NamedDeliveries> {
  return context.ofEachType((deliver) =>
    each(ages, async ([name, age]) => [name, await deliver({ age })] as const),
  );
}

/** Bytes that decoders and filters drop from a text. */
const DROPPED: readonly (readonly [name: string, ...bytes: number[]])[] = [
  ["0xFF", 0xff],
  ["a lone continuation byte", 0x80],
  ["an overlong NUL", 0xc0, 0x80],
  ["half of a character", 0xe2, 0x82],
  ["half of a surrogate pair", 0xed, 0xa0, 0x80],
  ["a NUL", 0x00],
  ["a control character", 0x01],
  ["DEL", 0x7f],
  ["a soft hyphen", 0xc2, 0xad],
  ["a zero-width space", 0xe2, 0x80, 0x8b],
  ["a byte order mark", 0xef, 0xbb, 0xbf],
  ["a letter beyond ASCII", 0xc3, 0xa9],
];

/** Deliveries whose bytes were changed to others that may decode to the same text. */
export async function withSameText(context: CaseContext): Promise<NamedDeliveries> {
  const { deliver } = context;
  const inside = await context.ofEachType((deliver) =>
    each(DROPPED, async ([name, ...added]) => {
      const delivery = await deliver();
      // In the first text that is no key.
      const changed = inserted(delivery, delivery.text.indexOf('":"') + 4, added);
      return [`${name} inside a text`, changed] as const;
    }),
  );
  // Decoders replace invalid UTF-8 with U+FFFD, drop it, or drop a byte order mark.
  const original = (await deliver()).text;
  const replaced = await deliver({ body: `{"note":"\uFFFD",${original.slice(1)}` });
  const [head = "", rest = ""] = replaced.text.split("\uFFFD");
  const encoder = new TextEncoder();
  const bytes = Uint8Array.of(...encoder.encode(head), 0xff, ...encoder.encode(rest));
  const plain = await deliver();
  const text = plain.text;
  const utf16 = plain.withBody(Buffer.from(text, "utf16le"));
  return [
    ...inside,
    ["a byte that is never UTF-8", replaced.withBody(bytes)],
    ["an added byte that is never UTF-8", inserted(plain, 2, [0xff])],
    ["an added byte order mark", plain.withBody(`\uFEFF${text}`)],
    ["an added NUL", plain.withBody(`${text}\u0000`)],
    ["UTF-16", utf16.withHeader("Content-Type", "application/json; charset=utf-16le")],
  ];
}

function inserted(delivery: Delivery, at: number, added: readonly number[]): Delivery {
  const { body } = delivery;
  return delivery.withBody(Uint8Array.of(...body.subarray(0, at), ...added, ...body.subarray(at)));
}

/** Signatures by the right secret that do not cover timestamp, id and body. */
export async function withOtherSchemes({ deliver }: CaseContext): Promise<NamedDeliveries> {
  const delivery = await deliver();
  const { id, body, secret } = delivery;
  const timestamp = delivery.header(TIMESTAMP);
  const over = (prefix: string) => macOf(secret, prefix, body).toString("hex");
  const unkeyed = createHash("sha256").update(`v1:${timestamp}:${id}:`).update(body);
  const withoutBody = macOf(secret, `v1:${timestamp}:${id}:`).toString("hex");
  const signatures: readonly Named<string>[] = [
    ["over the body alone", `v1=${over("")}`],
    ["over the body alone, in GitHub's format", `sha256=${over("")}`],
    ["over timestamp and body", `v1=${over(`${timestamp}.`)}`],
    ["over timestamp and body, with colons", `v1=${over(`v1:${timestamp}:`)}`],
    ["over id and body", `v1=${over(`v1:${id}:`)}`],
    ["over id, timestamp and body in another order", `v1=${over(`${id}.${timestamp}.`)}`],
    ["over everything but the body", `v1=${withoutBody}`],
    ["a hash without a secret", `v1=${unkeyed.digest("hex")}`],
    ["a hash of the body, in GitHub's format", `sha256=${hashOf(body)}`],
  ];
  return signatures.map(([name, signature]) => [name, delivery.withHeader(SIGNATURE, signature)]);
}

const hashOf = (body: Uint8Array): string => createHash("sha256").update(body).digest("hex");

/** The same record of another account, with the old signature. */
export function ofAccount(delivery: Delivery, account: number): Delivery {
  const text = delivery.text.replace(/"account_id":\d+/, `"account_id":${account}`);
  return delivery.withBody(text);
}

const LONG = "a".repeat(80);
const DEEP = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;

/** Requests of strangers, which a receiver refuses at different steps. */
export async function refusedRequests(deliver: MakeDelivery): Promise<NamedDeliveries> {
  return [
    await wrongSecret(deliver),
    await unsignedRequest(deliver),
    await reserializedBody(deliver),
    ...(await missingHeaders(deliver)),
    ["an id with a colon", (await deliver()).withHeader(ID, `${randomUUID()}:b`)],
    ["half of the JSON", (await deliver()).withBody('{"alarm":')],
    ["no body", (await deliver()).withBody("")],
    ["no webhook header at all", (await deliver()).with({ headers: [] })],
    ["a changed body", ofAccount(await deliver(), 7)],
    ["a signature that is too short", (await deliver()).withHeader(SIGNATURE, "v1=00")],
    ["a signature that is not hexadecimal", (await deliver()).withHeader(SIGNATURE, "v1=é")],
    // One of these ends a process that looks at it without care.
    ["a wrong signature of null", (await deliver({ body: "null" })).signedWith("another")],
    ["a wrong signature of deep nesting", (await deliver({ body: DEEP })).signedWith("another")],
    ["a long id and a dot", (await deliver()).withHeader(ID, `${LONG}${randomUUID()}.`)],
    ["a long timestamp and a dot", (await deliver()).withHeader(TIMESTAMP, `${"1".repeat(80)}.`)],
    ["a wrong signature, an hour old", (await deliver({ age: HOUR })).signedWith("another")],
    ["a wrong signature of what is not JSON", (await deliver({ body: "{" })).signedWith("another")],
  ];
}

/** The forms in which a message may hold a signature. */
export function spellings(mac: Buffer): readonly string[] {
  const hex = mac.toString("hex");
  const base64 = mac.toString("base64").replace("=", "");
  return [hex, hex.toUpperCase(), base64, mac.toString("base64url")];
}
