import { randomUUID } from "node:crypto";
import { inspect } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, describe, expect, it } from "vitest";
import {
  createWebhookReceiver,
  type Alarm,
  type DeliveryStore,
  type WebhookReceiverOptions as Options,
  type WebhookResponse,
} from "../../src/index.js";
import { GOLDEN, GOLDEN_BYTES } from "../signature/golden-vector.js";
import { createCollector } from "../support/collector.js";
import { NOW_MS, TEST_SECRET } from "../support/deliveries.js";
import { Fuzzer } from "../fuzz/fuzz.js";
import { bytesOf, headerOf, sign, type JudgedRequest } from "../fuzz/judge.js";
import { runFuzz, type MakeReceiver } from "../fuzz/run-fuzz.js";
import { spiedStore } from "../support/spied-store.js";

/** Number of requests by `npm run test:all`, and in which every planted flaw must be found. */
const QUICK = 3_000;
const REQUESTS = Number(process.env["FUZZ_RUNS"] ?? QUICK);
const SEED = Number(process.env["FUZZ_SEED"] ?? 20_251_009);
/** Far above the real duration, so that only a hang exceeds it. */
const TIMEOUT_MS = 60_000 + 5 * REQUESTS;

/** What a quick run must reach. */
const REACHED = [
  "old signature: body_too_large",
  "old signature: malformed",
  "old signature: method_not_allowed",
  "old signature: reachable",
  "old signature: signature_mismatch",
  "old signature: unsigned",
  "new signature: handled",
  "new signature: duplicate",
  "new signature: unhandled",
  "new signature: stale",
  "new signature: type_mismatch",
  "new signature: unrecognized",
  "forged: signature_mismatch",
];

/** Bytes of the heap after garbage collection. */
function heapBytes(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}

it(
  "fuzzed requests end as a second reading of the documents says, and leave nothing behind",
  async () => {
    const startedAt = performance.now();
    const { sent, outcomes, finding } = await runFuzz(SEED, REQUESTS);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    const counts = [...outcomes].sort().map(([kind, count]) => `\n  ${kind}: ${count}`);
    process.stdout.write(`FUZZ_SEED=${SEED}: ${sent} requests in ${seconds} s${counts.join("")}\n`);
    expect(finding).toBeUndefined();
    expect(sent).toBeGreaterThanOrEqual(REQUESTS);
    expect(Object.keys(Object.prototype)).toEqual([]);
    // The mutations are useful: they reach every outcome that a request can cause.
    const missing = REACHED.filter((kind) => !outcomes.has(kind));
    if (REQUESTS >= QUICK) expect(missing).toEqual([]);
  },
  TIMEOUT_MS,
);

it(
  "requests of a sender without a secret reach no store and leave nothing in memory",
  async () => {
    const fuzzer = new Fuzzer(SEED, () => ["a secret that the receiver does not have"]);
    const spy = spiedStore();
    const { options, lines } = createCollector();
    const outcomes = new Set<string>();
    const receiver = createWebhookReceiver({
      secret: ["a newer secret", TEST_SECRET],
      handlers: { new_alarm: () => undefined },
      store: spy.store,
      maxBodyBytes: 8_192,
      logger: options.logger,
      now: () => NOW_MS,
    });
    const sets = Math.floor(Math.max(QUICK, REQUESTS) / 8);
    let heapBefore = 0;
    for (let set = 0; set < sets; set++) {
      if (set === Math.floor(sets / 4)) heapBefore = heapBytes();
      for (const { request } of fuzzer.next()) {
        outcomes.add((await receiver.receive(request)).outcome);
      }
    }

    expect(heapBytes() - heapBefore).toBeLessThan(8 * 1_048_576);
    expect(spy.calls).toEqual([]);
    // One line per outcome and minute, for any number of requests.
    expect(lines.length).toBeLessThanOrEqual(outcomes.size * (1 + TIMEOUT_MS / 60_000));
    expect([...outcomes].sort()).toEqual([
      "body_too_large",
      "malformed",
      "method_not_allowed",
      "reachable",
      "signature_mismatch",
      "unsigned",
    ]);
  },
  TIMEOUT_MS,
);

const [ID, TIMESTAMP] = ["x-webhook-id", "x-webhook-timestamp"] as const;
const [TYPE, SIGNATURE] = ["x-webhook-type", "x-webhook-signature"] as const;
type Texts = Record<typeof ID | typeof TIMESTAMP | typeof TYPE | typeof SIGNATURE, string>;
/** An event that nothing emits. */
const LEFT_EVENT = "left by a planted flaw";
const nothing = (): void => undefined;

/** A receiver with other options. */
function having(change: (options: Options) => Partial<Options>): MakeReceiver {
  return (options) => createWebhookReceiver({ ...options, ...change(options) } as Options);
}

/** A receiver that sees another request. */
function seeing(change: (request: JudgedRequest) => object): MakeReceiver {
  return (options) => {
    const { receive } = createWebhookReceiver(options);
    return {
      receive: async (request) => receive({ ...request, ...change(request as JudgedRequest) }),
    };
  };
}

/** A receiver that does something else after this outcome. */
function after(outcome: string, change: (response: WebhookResponse) => unknown): MakeReceiver {
  return (options) => {
    const { receive } = createWebhookReceiver(options);
    return {
      async receive(request) {
        const response = await receive(request);
        const changes = response.outcome === outcome ? change(response) : undefined;
        return { ...response, ...(changes as Partial<WebhookResponse> | undefined) };
      },
    };
  };
}

function seeingBody(change: (text: string) => string): MakeReceiver {
  return seeing(({ body }) => ({ body: change(Buffer.from(bytesOf(body)).toString("utf8")) }));
}

/**
 * A receiver that reads the four headers in a way of its own, if all of them are texts. `sign` makes the right
 * signature for an id.
 */
function reading(
  read: (texts: Texts, signFor: (id: string) => string, body: string) => Partial<Texts>,
): MakeReceiver {
  return seeing(({ headers, body }) => {
    const names = [ID, TIMESTAMP, TYPE, SIGNATURE];
    const texts = Object.fromEntries(names.map((name) => [name, headerOf(headers, name)])) as Texts;
    if (Object.values(texts).some((text) => typeof text !== "string")) return {};
    const bytes = bytesOf(body);
    const signFor = (id: string) => sign(TEST_SECRET, texts[TIMESTAMP], id, bytes);
    const changed = { ...texts, ...read(texts, signFor, Buffer.from(bytes).toString()) };
    return names.every((name) => changed[name as never] === texts[name as never])
      ? {}
      : { headers: changed };
  });
}

function readingSignature(read: (text: string, right: string) => string): MakeReceiver {
  return reading((texts, signFor) => ({ [SIGNATURE]: read(texts[SIGNATURE], signFor(texts[ID])) }));
}

/** A receiver that verifies the id as it was sent, and takes another one for it. */
function takingId(change: (id: string) => string): MakeReceiver {
  return reading(({ [ID]: id, [SIGNATURE]: signature }, signFor) =>
    signature === signFor(id) ? { [ID]: change(id), [SIGNATURE]: signFor(change(id)) } : {},
  );
}

/** A receiver that remembers ids under other keys. */
function keeping(keyOf: (id: string) => string): MakeReceiver {
  return having((options) => {
    const { store } = options as { store: DeliveryStore };
    const claim: DeliveryStore["claim"] = (key, ...rest) => store.claim(keyOf(key), ...rest);
    const complete: DeliveryStore["complete"] = (key, ...rest) =>
      store.complete(keyOf(key), ...rest);
    return { store: { ...store, claim, complete } };
  });
}

function serializedAgain(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}

/** Receivers with one flaw each. */
const PLANTED_FLAWS: Readonly<Record<string, MakeReceiver>> = {
  "skips the check of freshness": having(() => ({ timestampToleranceMs: 604_800_000 })),
  "has a tolerance that is one second short": having(() => ({ timestampToleranceMs: 299_000 })),
  "takes a body that is one byte too long": having(() => ({ maxBodyBytes: 8_193 })),
  "trims the body": seeingBody((text) => text.trim()),
  "serializes the body again": seeingBody(serializedAgain),
  "decodes bytes that are not UTF-8": seeingBody((text) => text),
  "accepts v2=": readingSignature((text) => text.replace(/^v2=/, "v1=")),
  "accepts V1=": readingSignature((text) => text.replace(/^V1=/, "v1=")),
  "refuses digits in upper case": readingSignature((text) => text.replace(/[A-F]/, "0")),
  "accepts what follows the signature": readingSignature((text) => text.slice(0, 67)),
  "accepts the right signature among others": readingSignature((text, right) =>
    text.includes(right) ? right : text,
  ),
  "compares the first eight digits": readingSignature((text, right) =>
    text.startsWith(right.slice(0, "v1=".length + 8)) ? right : text,
  ),
  "takes the last of a repeated header": seeing(({ headers }) => {
    if (headers instanceof Headers) return {};
    const pairs = Object.entries(headers as Record<string, unknown>);
    return { headers: Object.fromEntries(pairs.map(([name, of]) => [name, [of].flat().at(-1)])) };
  }),
  "takes the timestamp as a number": reading(({ [TIMESTAMP]: text }) => ({
    [TIMESTAMP]: String(Number(text)),
  })),
  "takes the type from the body": reading((_texts, _signFor, body) => ({
    [TYPE]: body.includes('"alarm"') ? "new_alarm" : "delete_my_data_event",
  })),
  "takes any character in an id": takingId((id) => id.replace(/[^\w.-]/g, "_")),
  "takes an id of any length": takingId((id) => id.slice(0, 128)),
  "takes ids in any letter case for the same": keeping((id) => id.toLowerCase()),
  "forgets ids": keeping(() => randomUUID()),
  "knows the first secret only": having(({ secret }) => ({
    secret: Array.isArray(secret) ? String(secret[0]) : secret,
  })),
  "takes the secret of either type": having(({ secret }) => ({
    secret: typeof secret === "object" ? (Object.values(secret).flat() as string[]) : secret,
  })),
  "drops unknown members": having(({ handlers }) => ({
    handlers: {
      ...handlers,
      new_alarm: (alarm, context) =>
        handlers.new_alarm?.({ ...alarm, added: undefined } as Alarm, context),
    },
  })),
  "acknowledges without the handler": having(({ handlers }) => ({
    handlers: { ...handlers, delete_my_data_event: nothing },
  })),
  "acknowledges what it does not recognize": after("unrecognized", () => ({ status: 200 })),
  "gives up a forged delivery for good": after("signature_mismatch", () => ({ status: 401 })),
  "throws for a header that is no text": seeing(({ headers }) => {
    for (const value of Object.values(headers as object)) (value as string | undefined)?.trim();
    return {};
  }),
  "leaves a timer": after("handled", () => void setTimeout(nothing, 60_000).unref()),
  "leaves a listener of the process": after("stale", () => void process.on(LEFT_EVENT, nothing)),
  "leaves a rejection": after("stale", () => void Promise.reject(new Error("left behind"))),
};

describe("the fuzz itself", () => {
  afterEach(() => {
    process.removeAllListeners(LEFT_EVENT);
  });

  it.each(Object.entries(PLANTED_FLAWS))("a receiver that %s is convicted", async (_flaw, make) => {
    const { finding } = await runFuzz(1, QUICK, make);
    expect(finding).toBeDefined();
  });

  it("the judge signs as the gateway's golden vector", () => {
    const { secret, timestamp, id, signature } = GOLDEN;
    expect(sign(secret, timestamp, id, GOLDEN_BYTES)).toBe(signature);
  });

  it("the same seed gives the same requests", () => {
    const take = (seed: number) => {
      const fuzzer = new Fuzzer(seed, () => [TEST_SECRET]);
      return inspect(
        Array.from({ length: 100 }, () => fuzzer.next()),
        { depth: 6 },
      );
    };
    expect(take(7)).toBe(take(7));
    expect(take(8)).not.toBe(take(7));
  });
});
