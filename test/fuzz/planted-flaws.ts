import { randomUUID } from "node:crypto";
import {
  createWebhookReceiver,
  type Alarm,
  type DeliveryStore,
  type WebhookReceiverOptions as Options,
  type WebhookResponse,
} from "../../src/index.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { bytesOf, headerOf, sign, type JudgedRequest } from "./judge.js";
import type { MakeReceiver } from "./run-fuzz.js";

const [ID, TIMESTAMP] = ["x-webhook-id", "x-webhook-timestamp"] as const;
const [TYPE, SIGNATURE] = ["x-webhook-type", "x-webhook-signature"] as const;
type Texts = Record<typeof ID | typeof TIMESTAMP | typeof TYPE | typeof SIGNATURE, string>;
/** An event that nothing emits. A test must remove its listeners. */
export const LEFT_EVENT = "left by a planted flaw";
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
export const PLANTED_FLAWS: Readonly<Record<string, MakeReceiver>> = {
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
