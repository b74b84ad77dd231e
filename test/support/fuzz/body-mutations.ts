import type { Random } from "../../../kit/random.js";

/** Changes a body. Returns new bytes and does not modify the given ones. */
export type BodyMutation = (body: Uint8Array, random: Random, other: Uint8Array) => Uint8Array;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Values that break JSON readers. */
const ODD_VALUES: readonly unknown[] = [
  ...[
    null,
    true,
    false,
    0,
    -1,
    1e308,
    0.1,
    9007199254740993,
    "",
    "1",
    "0x10",
    " ",
    "\u0000",
    "ÅÄÖ",
  ],
  ...["\u{1F511}", "\u2028", "__proto__", [], {}, [null], { a: { b: [] } }, "9".repeat(40)],
];
const ODD_KEYS = [
  "__proto__",
  "constructor",
  "prototype",
  "toJSON",
  "then",
  "",
  "alarm",
  "event",
  "id",
];
const ODD_TEXTS = [
  "",
  " ",
  "null",
  "[]",
  "{}",
  '"alarm"',
  "{",
  '{"alarm":',
  "\u0000",
  "NaN",
  "1e999",
];

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
  append: (body, random) =>
    join(body, encoder.encode(random.pick([" ", "\n", "\u0000", "}", "]"]))),
  prependMark: (body) => join(encoder.encode("\uFEFF"), body),
  repeat: (body) => join(body, body),
  swapForOther: (_body, _random, other) => other,
  spliceOther: (body, random, other) =>
    join(body.slice(0, random.below(body.length)), other.slice(random.below(other.length))),
  oddText: (_body, random) => encoder.encode(random.pick(ODD_TEXTS)),
  noise: (_body, random) => Uint8Array.from({ length: random.below(64) }, () => random.below(256)),
  long: (body, random) => join(body, new Uint8Array(1_024 * (1 + random.below(12))).fill(0x20)),
  nest(_body, random) {
    const depth = 1 + random.below(2_000);
    return encoder.encode(`{"alarm":${"[".repeat(depth)}${"]".repeat(depth)}}`);
  },
  changeValue: onRecord((record, random) => {
    setOwn(record, random.pick(Object.keys(record)), random.pick(ODD_VALUES));
  }),
  dropField: onRecord((record, random) => {
    Reflect.deleteProperty(record, random.pick(Object.keys(record)));
  }),
  addField: onRecord((record, random) => {
    setOwn(record, random.pick(ODD_KEYS), random.pick(ODD_VALUES));
  }),
  addRootField: onRoot((root, random) => {
    setOwn(root, random.pick(ODD_KEYS), random.pick(ODD_VALUES));
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

type Change = (target: Record<string, unknown>, random: Random) => void;

function onRoot(change: Change): BodyMutation {
  return (body, random) => {
    const root = parse(body);
    if (root === undefined) return body;
    change(root, random);
    return encoder.encode(JSON.stringify(root));
  };
}

/** Changes the alarm or the event inside the body. */
function onRecord(change: Change): BodyMutation {
  return onRoot((root, random) => {
    const record = root["alarm"] ?? root["event"];
    if (typeof record !== "object" || record === null) return;
    if (Object.keys(record).length > 0) change(record as Record<string, unknown>, random);
  });
}

/** Also works for `__proto__`: an assignment would not create a key. */
function setOwn(target: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(target, key, {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  });
}
