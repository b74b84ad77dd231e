import type { Random } from "../../kit/random.js";

/** Changes a body. Returns new bytes and does not modify the given ones. */
export type BodyMutation = (body: Uint8Array, random: Random, other: Uint8Array) => Uint8Array;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** What may stand where a JSON value stands: of each type, at the limits of numbers and texts, and no JSON. */
const ODD_JSON = [
  ...String.raw`null true false 0 -0 -1 1.0 1E2 0.1 1e308 1e400 -1e-400 9007199254740991
    -9007199254740991 9007199254740992 9007199254740993 12345678901234567890 "" "1" "-7" "+7" "007"
    "0x10" "1e3" "1.0" "-" "9007199254740991" "9007199254740993" "99999999999999999999" "00000000000000001" "\u0661"
    "\u0000" "\ud800" "\udc00\ud83d" "\ufeff" "ÅÄÖ" "🔑" "__proto__" "toString" "A_LATER_EVENT"
    "DATA_DELETED" "POWER_OF_ATTORNEY_SIGNED" "data_deleted" [] {} [null] [["a"]] {"a":{"b":[]}}
    {"__proto__":{"id":1}} {"toJSON":1} 01 +1 .5 1. NaN 'a' undefined "\x41" " [1,] /**/1`.split(
    /\s+/,
  ),
  "",
  '" 1"',
  '"\u2028"',
  '"\t"',
  "[".repeat(900) + "]".repeat(900),
  `${'{"a":'.repeat(400)}1${"}".repeat(400)}`,
];
const ODD_KEYS =
  "__proto__ constructor prototype toJSON then alarm event id ID type site_id 0 \ud800".split(" ");
const ODD_TEXTS = ["", " ", ...'null [] {} "alarm" { {"alarm": \u0000 NaN 1e999'.split(" ")];
/** No part of UTF-8: a lone continuation, overlong forms, a surrogate, beyond Unicode, a cut character. */
const NOT_UTF8 = ["80", "c080", "c1bf", "e08080", "eda080", "f4908080", "f0908d", "ff", "fffe"];

/** All mutations of a body by name. */
export const BODY_MUTATIONS: Readonly<Record<string, BodyMutation>> = {
  flipBit(body, random) {
    const copy = body.slice();
    const at = random.below(copy.length);
    copy[at] = (copy[at] ?? 0) ^ (1 << random.below(8));
    return copy;
  },
  setByte(body, random) {
    const copy = body.slice();
    copy[random.below(copy.length)] = random.below(256);
    return copy;
  },
  insertByte: (body, random) => splice(body, random, 0, new Uint8Array([random.below(256)])),
  deleteBytes: (body, random) => splice(body, random, 1 + random.below(8), new Uint8Array(0)),
  truncate: (body, random) => body.slice(0, random.below(body.length)),
  /** As long as the limit of the tests' receivers, or one byte longer. */
  toLimit: (body, random) =>
    join(body, new Uint8Array(Math.max(0, 8_192 - body.length + random.below(2))).fill(0x20)),
  append: (body, random) =>
    join(body, encoder.encode(random.pick([" ", "\n", "\u0000", "}", "]"]))),
  prependMark: (body) => join(encoder.encode("\uFEFF"), body),
  repeat: (body) => join(body, body),
  swapForOther: (_body, _random, other) => other,
  spliceOther: (body, random, other) =>
    join(body.slice(0, random.below(body.length)), other.slice(random.below(other.length))),
  oddText: (_body, random) => encoder.encode(random.pick(ODD_TEXTS)),
  noise: (_body, random) => Uint8Array.from({ length: random.below(64) }, () => random.below(256)),
  nest(_body, random) {
    const depth = 1 + random.below(2_000);
    return encoder.encode(`{"alarm":${"[".repeat(depth)}${"]".repeat(depth)}}`);
  },
  notUtf8: (body, random) => splice(body, random, 0, Buffer.from(random.pick(NOT_UTF8), "hex")),
  changeValue: onMembers((members, random) => {
    const member = random.pick(members);
    member[1] = random.pick(ODD_JSON);
  }),
  dropMember: onMembers((members, random) => members.splice(random.below(members.length), 1)),
  addMember: onMembers((members, random) => {
    const member: Member = [JSON.stringify(random.pick(ODD_KEYS)), random.pick(ODD_JSON)];
    members.splice(random.below(members.length + 1), 0, member);
  }),
  repeatMember: onMembers((members, random) => {
    const [key] = random.pick(members);
    members.splice(random.below(members.length + 1), 0, [key, random.pick(ODD_JSON)]);
  }),
  escapeKey: onMembers((members, random) => {
    const member = random.pick(members);
    member[0] = member[0].replace(/[a-z]/, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`);
  }),
  respace: (body) => {
    const parsed = parse(body);
    return parsed === undefined ? body : encoder.encode(JSON.stringify(parsed, null, 1));
  },
};

function join(head: Uint8Array, tail: Uint8Array): Uint8Array {
  const joined = new Uint8Array(head.length + tail.length);
  joined.set(head);
  joined.set(tail, head.length);
  return joined;
}

function splice(body: Uint8Array, random: Random, remove: number, insert: Uint8Array): Uint8Array {
  const at = random.below(body.length + 1);
  return join(join(body.slice(0, at), insert), body.slice(at + remove));
}

function parse(body: Uint8Array): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(decoder.decode(body));
    if (typeof parsed !== "object" || parsed === null) return undefined;
    return parsed as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

/** Key and value of a JSON object as they are written. */
type Member = [key: string, value: string];

/** Changes how the members of the record are written; one in four times those of the body. */
function onMembers(change: (members: Member[], random: Random) => unknown): BodyMutation {
  return (body, random) => {
    const root = membersOf(parse(body));
    const [first] = root;
    const record = first && membersOf(JSON.parse(first[1]));
    if (first === undefined || record === undefined || record.length === 0) return body;
    if (random.chance(4)) change(root, random);
    else {
      change(record, random);
      first[1] = written(record);
    }
    return encoder.encode(written(root));
  };
}

function membersOf(value: unknown): Member[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).map(([key, one]) => [JSON.stringify(key), JSON.stringify(one)]);
}

function written(members: readonly Member[]): string {
  return `{${members.map((member) => member.join(":")).join(",")}}`;
}
