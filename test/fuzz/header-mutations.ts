import type { Random } from "../../kit/random.js";

/** Headers as a server may pass them, and worse. */
export type AnyHeaders = Record<string, unknown>;

/** Changes headers in place. `other` are the headers of another delivery. */
export type HeaderMutation = (headers: AnyHeaders, random: Random, other: AnyHeaders) => void;

const WEBHOOK_HEADERS = ["id", "type", "timestamp", "signature"].map((name) => `x-webhook-${name}`);
const ODD_NAMES = [
  ...["get", "__proto__", "constructor", "toString", "then", "X-Webhook-Secret", ""],
  ...["x-webhook-signatur", "x-webhook-signature ", "x_webhook_id", "Authorization"],
];
const ODD_CHARACTERS = [
  ...[" ", "\t", "\n", "\r\n", "v1="],
  ...Array.from(":,\u0000%=+-.0aA;/\u00e5\u212a\u0660\uff11\u200b\ufeff"),
  ...["\ud800", "\u{1F511}"],
];
const ODD_VALUES: readonly unknown[] = [
  ...["", " ", "0", "-1", "1e9", "null", "undefined", "v1=", "v2=00", "new_alarm", "NEW_ALARM"],
  ...["delete_my_data_event", "monthly_report", "../../..", "99999999999999", "a".repeat(129)],
  ...[null, 0, 1_760_000_000, true, {}, ["a", "b"], [undefined], [["a"]], Symbol("header")],
];
/** Seconds from the tests' clock: at the tolerance of 300 s and beside it, in retention, and far from it. */
const OFFSETS = [0, 1, 299, 300, 301, 86_400, 1e6, 1e9, 1.7e9];

/** Other ways to write a signature, some with the same digits. */
const SIGNATURE_FORMS: readonly ((digits: string, random: Random) => unknown)[] = [
  () => undefined,
  (digits) => `v1=${digits.toUpperCase()}`,
  (digits, random) =>
    random.pick(["v0=", "v2=", "V1=", "v1:", "v1", "sha256=", "", "=v1="]) + digits,
  (digits, random) => `v1=${digits.slice(0, random.pick([0, 1, 8, 16, 32, 62, 63]))}`,
  (digits, random) => `v1=${digits}${random.pick(["0", "00", digits, "\n", "=", "g", "\u0000"])}`,
  (digits, random) => `v1=${random.pick(["0", " ", "0x", "\t"])}${digits}`,
  (digits, random) => {
    const both = [`v1=${digits}`, random.pick([`v1=${"0".repeat(64)}`, `v2=${digits}`, "t=1", ""])];
    if (random.chance(2)) both.reverse();
    return random.chance(4) ? both : both.join(random.pick([",", ", ", ";", " ", "&", "\t"]));
  },
  (digits) => `v1=${Buffer.from(digits, "hex").toString("base64")}`,
  (digits, random) =>
    random.pick([` v1=${digits}`, `v1=${digits}\t `, [`v1=${digits}`], `"v1=${digits}"`]),
];

/** Other ways to write a timestamp, some for the same time. */
const TIMESTAMP_FORMS: readonly ((seconds: number, random: Random) => string)[] = [
  (seconds, random) =>
    random.pick(["+", "-", "--", " ", "0x", "0", "00", "000", "\u0660"]) + String(seconds),
  (seconds, random) =>
    String(seconds) + random.pick([".0", ".5", "e0", "n", "Z", " ", "\n", "000", "0", "_0"]),
  (_seconds, random) =>
    random.pick(["0", "1", "000000000001", "999999999999", "1000000000000", "", "NaN"]),
  (_seconds, random) => random.pick(["Infinity", "1.76e9", "0x68e77800", "2025-10-09T08:53:20Z"]),
  (_seconds, random) => String(1_760_000_000 + random.pick(OFFSETS) * random.pick([1, -1])),
];

const ID_CHARACTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz._-";

/** `length` characters that an id may have, and sometimes one that it may not. */
function idOf(length: number, random: Random): string {
  const id = Array.from({ length }, () => ID_CHARACTERS[random.below(ID_CHARACTERS.length)]);
  if (random.chance(4)) id[random.below(length)] = random.pick(ODD_CHARACTERS);
  return id.join("");
}

/** A signature in another form. Returns any value that a server could pass. */
export function reformSignature(signature: string, random: Random): unknown {
  return random.pick(SIGNATURE_FORMS)(signature.replace("v1=", ""), random);
}

/** All mutations of headers by name. */
export const HEADER_MUTATIONS: Readonly<Record<string, HeaderMutation>> = {
  drop(headers, random) {
    headers[nameOf(headers, random)] = undefined;
  },
  dropAll(headers) {
    for (const name of Object.keys(headers)) headers[name] = undefined;
  },
  changeCase(headers, random) {
    const name = nameOf(headers, random);
    const value = headers[name];
    headers[name] = undefined;
    headers[inAnyCase(name, random)] = value;
  },
  repeatInOtherCase(headers, random, other) {
    const name = nameOf(headers, random);
    headers[inAnyCase(name, random)] = random.pick([headers[name], other[name], "", undefined, []]);
  },
  asList(headers, random, other) {
    const name = nameOf(headers, random);
    const value = headers[name];
    headers[name] = random.pick([[value], [value, value], [value, other[name]], [], [[value]]]);
  },
  oddValue(headers, random) {
    headers[nameOf(headers, random)] = random.pick(ODD_VALUES);
  },
  oddHeader(headers, random) {
    const value = random.pick(ODD_VALUES);
    const name = random.pick(ODD_NAMES);
    Object.defineProperty(headers, name, { value, enumerable: true, writable: true });
  },
  insertCharacter: onText((text, random) => {
    const at = random.below(text.length + 1);
    return text.slice(0, at) + random.pick(ODD_CHARACTERS) + text.slice(at);
  }),
  replaceCharacter: onText((text, random) => {
    const at = random.below(text.length);
    return text.slice(0, at) + random.pick(ODD_CHARACTERS) + text.slice(at + 1);
  }),
  flipCharacterBit: onText((text, random) => {
    const at = random.below(text.length);
    const flipped = String.fromCharCode(text.charCodeAt(at) ^ (1 << random.below(7)));
    return text.slice(0, at) + flipped + text.slice(at + 1);
  }),
  deleteCharacter: onText((text, random) => {
    const at = random.below(text.length);
    return text.slice(0, at) + text.slice(at + 1);
  }),
  truncate: onText((text, random) => text.slice(0, random.below(text.length))),
  repeat: onText((text, random) => text.repeat(2 + random.below(20))),
  upperCase: onText((text) => text.toUpperCase()),
  pad: onText((text, random) => random.pick([` ${text}`, `\t${text} \t`, `0${text}`, `${text}\n`])),
  timestampForm(headers, random) {
    const given = Number(String(headers["x-webhook-timestamp"])) || 0;
    headers["x-webhook-timestamp"] = random.pick(TIMESTAMP_FORMS)(given, random);
  },
  idForm(headers, random) {
    headers["x-webhook-id"] = idOf(random.pick([1, 2, 36, 127, 128, 129, 300]), random);
  },
  signatureForm(headers, random) {
    const { "x-webhook-signature": given } = headers;
    if (typeof given === "string") headers["x-webhook-signature"] = reformSignature(given, random);
  },
  swap(headers, random) {
    const [one, two] = [nameOf(headers, random), nameOf(headers, random)];
    [headers[one], headers[two]] = [headers[two], headers[one]];
  },
  takeFromOther(headers, random, other) {
    const name = nameOf(headers, random);
    headers[name] = other[name];
  },
  takeAllFromOther(headers, _random, other) {
    for (const name of WEBHOOK_HEADERS) headers[name] = other[name];
  },
};

function nameOf(headers: AnyHeaders, random: Random): string {
  const name = random.pick(WEBHOOK_HEADERS);
  return name in headers ? name : random.pick(Object.keys(headers));
}

/** Each letter in one of its cases, and sometimes a k that is only lower case of another character. */
function inAnyCase(name: string, random: Random): string {
  if (random.chance(3)) return random.pick([name.toUpperCase(), name.replace("k", "\u212a")]);
  return name.replace(/[a-z]/g, (letter) => (random.chance(2) ? letter.toUpperCase() : letter));
}

function onText(change: (text: string, random: Random) => string): HeaderMutation {
  return (headers, random) => {
    const name = nameOf(headers, random);
    const text = headers[name];
    if (typeof text === "string" && text !== "") headers[name] = change(text, random);
  };
}
