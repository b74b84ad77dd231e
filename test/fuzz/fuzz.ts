import { createRandom, type Random } from "../../kit/random.js";
import type { WebhookRequest } from "../../src/index.js";
import { EVENT_TYPES } from "../records/documented-values.js";
import { NOW_SECONDS, TEST_SECRET, alarm, onlineDataEvent } from "../support/deliveries.js";
import { BODY_MUTATIONS } from "./body-mutations.js";
import { HEADER_MUTATIONS, reformSignature, type AnyHeaders } from "./header-mutations.js";
import { bytesOf, headerOf, sign, type JudgedRequest } from "./judge.js";

/** A request, and how it was made of a genuine delivery. */
export interface FuzzedRequest {
  readonly request: WebhookRequest & JudgedRequest;
  readonly mutations: readonly string[];
  /** The old one is of the delivery that was mutated. The others are made after the mutations. */
  readonly signature:
    | "old signature"
    | "forged"
    | "by a secret of any type"
    | "new signature"
    | "new in another form";
}

interface Draft {
  method: string | undefined;
  headers: AnyHeaders;
  body: Uint8Array;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const METHODS = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "", "POST ", "PÖST", "post", "pOST"];
const WRONG_SECRETS = [
  ...[`${TEST_SECRET}x`, TEST_SECRET.slice(0, -1), TEST_SECRET.slice("whsec_".length)],
  ...[TEST_SECRET.toUpperCase(), "another secret", "", "undefined", `${TEST_SECRET}\n`],
];
const HEADER_NAMES = Object.keys(HEADER_MUTATIONS);
const BODY_NAMES = Object.keys(BODY_MUTATIONS);
const VALUE_FORMS = ["idForm", "timestampForm", "signatureForm"];
const OWN_ID = "x-webhook-id";
const SIGNATURE = "x-webhook-signature";
/** How many of the last ids a further delivery may have, as a redelivery. */
const RECENT_IDS = 20;

const ALARMS = [alarm(), alarm({ payload: "", text: "Ålarm – \u{1F511} ".repeat(40), added: [1] })];
const EVENTS = [...EVENT_TYPES, "A_LATER_EVENT"].map((type) => onlineDataEvent(type));

/** Makes genuine deliveries for a receiver with these secrets, and mutates them. The same seed gives the same requests. */
export class Fuzzer {
  readonly #random: Random;
  readonly #secretsOf: (type: string) => readonly string[];
  readonly #recentIds: string[] = [];
  #count = 0;
  /** The delivery before, of which mutations take parts. */
  #other: Draft;

  constructor(seed: number, secretsOf: (type: string) => readonly string[]) {
    this.#random = createRandom(seed);
    this.#secretsOf = secretsOf;
    this.#other = this.#genuine();
  }

  /**
   * One set of mutations as two requests. The first has the signature of the delivery that was mutated, or a
   * one of a secret that may be wrong; the second is signed with a right secret after the mutations.
   */
  next(): readonly [FuzzedRequest, FuzzedRequest] {
    const random = this.#random;
    const genuine = this.#genuine();
    const draft = { ...genuine, headers: { ...genuine.headers } };
    const mutations = [this.#mutate(draft)];
    while (random.chance(3)) mutations.push(this.#mutate(draft));
    // A probe of the URL.
    if (mutations.includes("method") && random.chance(2)) draft.headers = {};
    this.#other = genuine;
    const text = random.chance(8) ? textOf(draft.body, random) : undefined;
    const body = text ?? draft.body;
    const { method } = draft;
    // Before it is signed: a `Headers` object drops spaces.
    const object = random.chance(8) ? headersObject(draft.headers) : undefined;
    const headers = object ?? draft.headers;
    const requestOf = (all: AnyHeaders | Headers) => ({ method, headers: all as Headers, body });
    const isForged = random.chance(16);
    const isOfAnyType = random.chance(16);
    const secret = random.pick(isForged ? WRONG_SECRETS : this.#secretsOf("any"));
    const isKept = !isForged && !isOfAnyType;
    const first = isKept ? headers : withSignature(headers, signed(headers, body, secret));
    const secrets = this.#secretsOf(headerOf(headers, "x-webhook-type") ?? "");
    const right = signed(headers, body, random.pick(secrets));
    const isReformed = random.chance(4);
    const form = isReformed ? reformSignature(right, random) : right;
    return [
      {
        request: requestOf(first),
        mutations,
        signature: isForged ? "forged" : isKept ? "old signature" : "by a secret of any type",
      },
      {
        request: requestOf(withSignature(headers, form)),
        mutations,
        signature: isReformed ? "new in another form" : "new signature",
      },
    ];
  }

  #genuine(): Draft {
    const random = this.#random;
    const isAlarm = random.chance(2);
    const type = isAlarm ? "new_alarm" : "delete_my_data_event";
    const text = JSON.stringify(
      isAlarm ? { alarm: random.pick(ALARMS) } : { event: random.pick(EVENTS) },
    );
    const body = encoder.encode(random.chance(8) ? `\uFEFF${text}\r\n` : text);
    const timestamp = String(NOW_SECONDS + random.below(601) - 300);
    const id = random.chance(6) ? this.#recentId() : this.#newId();
    const signature = sign(random.pick(this.#secretsOf(type)), timestamp, id, body);
    const headers = {
      "content-type": "application/json",
      "x-webhook-type": type,
      [OWN_ID]: id,
      "x-webhook-timestamp": timestamp,
      [SIGNATURE]: signature,
    };
    return { method: "POST", headers, body };
  }

  #newId(): string {
    this.#count += 1;
    const id = `Fuzz-${this.#count}`;
    this.#recentIds.push(id);
    if (this.#recentIds.length > RECENT_IDS) this.#recentIds.shift();
    return id;
  }

  /** Sometimes in other letter case, which is another id. */
  #recentId(): string {
    if (this.#recentIds.length === 0) return this.#newId();
    const id = this.#random.pick(this.#recentIds);
    return this.#random.chance(4) ? id.toUpperCase() : id;
  }

  #mutate(draft: Draft): string {
    const random = this.#random;
    const kind = random.below(14);
    if (kind === 0) {
      draft.method = random.pick(METHODS);
      return "method";
    }
    if (kind === 1) return recut(draft, random);
    const other = this.#other;
    if (kind < 7) {
      const name = random.pick(BODY_NAMES);
      draft.body = BODY_MUTATIONS[name]?.(draft.body, random, other.body) ?? draft.body;
      return name;
    }
    // The three values with a grammar of their own are changed more often.
    const name = VALUE_FORMS[kind - 7] ?? random.pick(HEADER_NAMES);
    HEADER_MUTATIONS[name]?.(draft.headers, random, other.headers);
    return name;
  }
}

/** Moves text over the colons of the signed string, so that the signature stays right. */
function recut(draft: Draft, random: Random): string {
  const { headers } = draft;
  const { "x-webhook-timestamp": timestamp, [OWN_ID]: id } = headers;
  if (typeof timestamp !== "string" || typeof id !== "string") return "recut of nothing";
  const head = Buffer.from(`${timestamp}:${id}:`);
  const whole = Buffer.concat([head, draft.body]);
  const colons = Array.from(whole.keys()).filter((at) => whole[at] === 0x3a);
  const [first = 0, second = 0] = [random.pick(colons), random.pick(colons)].sort((a, b) => a - b);
  headers["x-webhook-timestamp"] = whole.subarray(0, first).toString();
  headers[OWN_ID] = whole.subarray(first + 1, second).toString();
  draft.body = new Uint8Array(whole.subarray(second + 1));
  return "recut";
}

/** The signature over the id and the timestamp that the headers have. */
function signed(headers: unknown, body: Uint8Array | string, secret: string): string {
  const timestamp = headerOf(headers, "x-webhook-timestamp") ?? "";
  return sign(secret, timestamp, headerOf(headers, OWN_ID) ?? "", bytesOf(body));
}

/** The headers with one signature. A record, if HTTP cannot carry it. */
function withSignature(headers: AnyHeaders | Headers, signature: unknown): AnyHeaders | Headers {
  const isObject = headers instanceof Headers;
  const pairs: [string, unknown][] = isObject ? [...headers] : Object.entries(headers);
  const others = pairs.filter(([name]) => name.toLowerCase() !== SIGNATURE);
  const record: AnyHeaders = Object.fromEntries([...others, [SIGNATURE, signature]]);
  return (isObject ? headersObject(record) : undefined) ?? record;
}

/** The body as text, sometimes with half a character, which has no bytes of its own. */
function textOf(body: Uint8Array, random: Random): string {
  const text = decoder.decode(body);
  const at = random.below(text.length + 1);
  return random.chance(4) ? `${text.slice(0, at)}\ud800${text.slice(at)}` : text;
}

/** The headers as a Fetch server passes them; undefined if HTTP cannot carry them. */
function headersObject(record: AnyHeaders): Headers | undefined {
  const headers = new Headers();
  try {
    for (const [name, value] of Object.entries(record)) {
      const values: unknown[] = Array.isArray(value) ? value : [value];
      for (const one of values) if (one !== undefined) headers.append(name, one as string);
    }
    return headers;
  } catch {
    return undefined;
  }
}
