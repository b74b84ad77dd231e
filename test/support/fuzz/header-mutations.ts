import type { Random } from "../../../kit/random.js";

/** Headers as a server may pass them, and worse. */
export type AnyHeaders = Record<string, unknown>;

/** Changes headers in place. `other` are the headers of another delivery. */
export type HeaderMutation = (headers: AnyHeaders, random: Random, other: AnyHeaders) => void;

const WEBHOOK_HEADERS = [
  "x-webhook-id",
  "x-webhook-type",
  "x-webhook-timestamp",
  "x-webhook-signature",
];
const ODD_NAMES = [
  ...[
    "get",
    "__proto__",
    "constructor",
    "toString",
    "then",
    "X-Webhook-Secret",
    "x-webhook-signatur",
  ],
  ...["x-webhook-signature ", "x_webhook_id", "Authorization", "", "content-length"],
];
const ODD_CHARACTERS = [
  ...[
    ":",
    ",",
    " ",
    "\t",
    "\n",
    "\r\n",
    "\u0000",
    "%",
    "=",
    "+",
    "-",
    ".",
    "0",
    "a",
    "A",
    ";",
    "/",
  ],
  ...["\u00e5", "\u212a", "\u0660", "\uff11", "\ud800", "\u{1F511}", "v1=", "\u200b", "\ufeff"],
];
const ODD_VALUES: readonly unknown[] = [
  ...["", " ", "0", "-1", "1e9", "null", "undefined", "v1=", "v2=00", "new_alarm", "NEW_ALARM"],
  ...["delete_my_data_event", "monthly_report", "../../..", "99999999999999", "a".repeat(129)],
  ...[null, 0, 1_760_000_000, true, {}, ["a", "b"], [undefined], [["a"]], Symbol("header")],
];

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
  pad: onText((text, random) => random.pick([` ${text}`, `${text} `, `0${text}`, `${text}\n`])),
  anotherTime(headers, random) {
    headers["x-webhook-timestamp"] = String(1_760_000_000 + random.below(1_200) - 600);
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

function inAnyCase(name: string, random: Random): string {
  return random.pick([name.toUpperCase(), name.replace("x-w", "X-W"), name.replace("k", "\u212a")]);
}

function onText(change: (text: string, random: Random) => string): HeaderMutation {
  return (headers, random) => {
    const name = nameOf(headers, random);
    const text = headers[name];
    if (typeof text === "string" && text !== "") headers[name] = change(text, random);
  };
}
