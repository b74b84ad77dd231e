import { signDelivery, type WebhookRequest } from "../../../src/index.js";
import { BODY_MUTATIONS } from "./body-mutations.js";
import { TEST_SECRET, alarm, delivery, eventDelivery } from "../deliveries.js";
import { HEADER_MUTATIONS, type AnyHeaders } from "./header-mutations.js";
import { createRandom, type Random } from "../../../kit/random.js";

/** A request that anyone without the secret could send, and how it was made. */
export interface FuzzedRequest {
  readonly request: WebhookRequest;
  readonly mutations: readonly string[];
}

/** A genuine delivery in the parts that mutations change. */
interface Captured {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

interface Draft {
  method: string | undefined;
  headers: AnyHeaders;
  body: Uint8Array;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const METHODS = [
  "GET",
  "HEAD",
  "PUT",
  "DELETE",
  "OPTIONS",
  "",
  "POST ",
  "P\u00d6ST",
  "post",
  "pOST",
];
const WRONG_SECRETS = [
  `${TEST_SECRET}x`,
  TEST_SECRET.slice(0, -1),
  TEST_SECRET.toUpperCase(),
  TEST_SECRET.slice("whsec_".length),
  "another secret",
];
const HEADER_NAMES = Object.keys(HEADER_MUTATIONS);
const BODY_NAMES = Object.keys(BODY_MUTATIONS);

/** Makes a fuzzer. The same seed gives the same requests. */
export async function createFuzzer(seed: number) {
  const random = createRandom(seed);
  const captured = await captureDeliveries();
  const bySignature = new Map(
    captured.map((one) => [one.headers["x-webhook-signature"]?.slice("v1=".length), one]),
  );

  const mutate = async (draft: Draft): Promise<string> => {
    const other = random.pick(captured);
    switch (random.below(8)) {
      case 0: {
        draft.method = random.pick(METHODS);
        return "method";
      }
      case 1: {
        await signWrongly(draft, random);
        return "signWrongly";
      }
      case 2:
      case 3:
      case 4: {
        const name = random.pick(BODY_NAMES);
        draft.body = BODY_MUTATIONS[name]?.(draft.body, random, other.body) ?? draft.body;
        return name;
      }
      default: {
        const name = random.pick(HEADER_NAMES);
        HEADER_MUTATIONS[name]?.(draft.headers, random, other.headers);
        return name;
      }
    }
  };

  return {
    genuine: captured.map(({ headers, body }) => ({ method: "POST", headers, body })),
    /** The next request; undefined if the mutations left it genuine. */
    async next() {
      const { headers, body } = random.pick(captured);
      const draft: Draft = { method: "POST", headers: { ...headers }, body };
      const mutations = [await mutate(draft)];
      while (random.chance(3)) mutations.push(await mutate(draft));
      const text = random.chance(8) ? decoder.decode(draft.body) : undefined;
      if (text !== undefined) draft.body = encoder.encode(text);
      const asHeaders = random.chance(8) ? headersObject(draft.headers) : undefined;
      if (isGenuine(draft, asHeaders, bySignature)) return undefined;
      return {
        mutations,
        request: {
          method: draft.method,
          headers: asHeaders ?? (draft.headers as Record<string, string>),
          body: text ?? draft.body,
        },
      };
    },
  };
}

/** An authentic delivery with a body that no sender intends. */
export async function createAuthenticFuzzer(seed: number) {
  const random = createRandom(seed);
  const captured = await captureDeliveries();
  let count = 0;
  return {
    async next(): Promise<FuzzedRequest> {
      const one = random.pick(captured);
      const mutations: string[] = [];
      let { body } = one;
      do {
        const name = random.pick(BODY_NAMES);
        body = BODY_MUTATIONS[name]?.(body, random, random.pick(captured).body) ?? body;
        mutations.push(name);
      } while (random.chance(2));
      count += 1;
      const type = random.chance(10) ? "monthly_report" : one.headers["x-webhook-type"];
      const request = await delivery({ id: `fuzz-${count}`, type: type ?? "", body });
      return { request, mutations };
    },
  };
}

async function captureDeliveries(): Promise<Captured[]> {
  const long = "Ålarm – \u{1F511} ".repeat(40);
  const deliveries = [
    await delivery({ id: "0" }),
    await delivery({ body: JSON.stringify({ alarm: alarm({ payload: "", text: long }) }) }),
    await delivery({ id: "A.b_c-d", body: `\uFEFF${JSON.stringify({ alarm: alarm() })}\r\n` }),
    await delivery({ id: "a".repeat(128), timestamp: 1_759_999_900 }),
    await eventDelivery("DATA_REAPPEARED", { id: "1-1" }),
    await eventDelivery("POWER_OF_ATTORNEY_SIGNED", { id: "1-2" }),
  ];
  return deliveries.map(({ headers, body }) => ({
    headers,
    body: typeof body === "string" ? encoder.encode(body) : body,
  }));
}

/** Signs like a forger: in the right form, but with another secret. */
async function signWrongly(draft: Draft, random: Random): Promise<void> {
  const { "x-webhook-id": id, "x-webhook-timestamp": timestamp } = draft.headers;
  const signed = {
    secret: random.pick(WRONG_SECRETS),
    id: typeof id === "string" && /^[\w.-]{1,128}$/.test(id) ? id : "0",
    timestamp: typeof timestamp === "string" && /^\d{1,12}$/.test(timestamp) ? +timestamp : 0,
    body: draft.body,
  };
  draft.headers["x-webhook-signature"] = await signDelivery(signed);
}

/** The headers as a Fetch server passes them; undefined if HTTP cannot carry them. */
function headersObject(record: AnyHeaders): Headers | undefined {
  const headers = new Headers();
  for (const [name, value] of Object.entries(record)) {
    if (value === undefined) continue;
    try {
      for (const text of Array.isArray(value) ? value : [value])
        headers.append(name, text as string);
    } catch {
      return undefined;
    }
  }
  return headers;
}

/**
 * Whether a request is still one of the captured deliveries. This reads it independently of the library, so that
 * the library does not judge itself.
 */
function isGenuine(
  { method, headers, body }: Draft,
  asHeaders: Headers | undefined,
  bySignature: ReadonlyMap<string | undefined, Captured>,
): boolean {
  if (method?.toUpperCase() !== "POST") return false;
  const found = (wanted: string): unknown => {
    if (asHeaders !== undefined) return asHeaders.get(wanted);
    const given = Object.keys(headers)
      .filter((name) => name.toLowerCase() === wanted)
      .flatMap((name) => headers[name])
      .filter((value) => value !== undefined);
    const [one] = given;
    // Spaces and tabs around a value do not belong to it.
    return given.length === 1 && typeof one === "string"
      ? one.replace(/^[ \t]+|[ \t]+$/g, "")
      : given;
  };
  const signature = found("x-webhook-signature");
  if (typeof signature !== "string" || !signature.startsWith("v1=")) return false;
  const original = bySignature.get(signature.slice("v1=".length).toLowerCase());
  if (original === undefined || Buffer.compare(original.body, body) !== 0) return false;
  return ["x-webhook-id", "x-webhook-type", "x-webhook-timestamp"].every(
    (name) => found(name) === original.headers[name],
  );
}
