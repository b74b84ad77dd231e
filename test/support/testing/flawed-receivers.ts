import { createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { TEST_SECRET } from "../deliveries.js";
import type { Ledger } from "../ledger.js";

/** What the receiver can be made to do wrong. Real receivers have each of these flaws. */
export type ReceiverFlaw =
  | "answers before it handles"
  | "handles duplicates again"
  | "verifies re-serialized JSON"
  | "answers 401 to everything unknown"
  | "believes X-Webhook-Type"
  | "remembers unverified ids"
  | "decodes before it verifies"
  | "decodes each packet separately"
  | "answers with the parser's message"
  | "acknowledges a duplicate in flight"
  | "acknowledges failed deliveries"
  | "remembers failed deliveries as handled"
  | "acknowledges and drops old deliveries"
  | "acknowledges and drops big bodies"
  | "compares a quarter of the signature"
  | "skips a digit of the signature"
  | "answers 409 forever after a late handler"
  | "forgets late handlers"
  | "remembers 8 characters of an id"
  | "remembers ids in lower case";

/** Longer than a failing handler takes. */
const HANDLER_TIMEOUT_MS = 550;

/** What the receiver answers. */
type Answer = readonly [status: number, text: string];

const GRAMMAR = {
  "x-webhook-id": /^[\w.-]{1,128}$/,
  "x-webhook-timestamp": /^[0-9]{1,12}$/,
  "x-webhook-type": /^[\w.-]{1,128}$/,
  "x-webhook-signature": /^v1=[0-9a-f]{64}$/i,
};

/**
 * A receiver without this library's code that does what the gateway's document asks for. With a flaw it does
 * one thing wrong, which the conformance suite must catch.
 */
export function handWrittenReceiver(ledger: Ledger, flaw?: ReceiverFlaw): RequestListener {
  const is = (one: ReceiverFlaw) => flaw === one;
  const handled = new Set<string>();
  const running = new Set<string>();
  const stopped = new Set<string>();
  const duplicateArrived = new Map<string, () => void>();

  const refuse = (text: string): Answer => [
    is("answers 401 to everything unknown") ? 401 : 409,
    text,
  ];

  /** Whether the signature matches the body, if the flaw does not get in the way. */
  const isSigned = (prefix: string, body: Buffer, signature: string): boolean => {
    let signedBody: string | Buffer = body;
    if (is("verifies re-serialized JSON")) signedBody = JSON.stringify(JSON.parse(String(body)));
    if (is("decodes before it verifies")) signedBody = String(body);
    const mac = createHmac("sha256", TEST_SECRET).update(prefix).update(signedBody).digest();
    const given = signature.slice("v1=".length);
    if (is("compares a quarter of the signature"))
      return mac.toString("hex", 0, 8) === given.slice(0, 16);
    if (is("skips a digit of the signature"))
      return mac.toString("hex").slice(1) === given.slice(1);
    return timingSafeEqual(mac, Buffer.from(given, "hex"));
  };

  const remembered = (id: string): string => {
    if (is("remembers ids in lower case")) return id.toLowerCase();
    return is("remembers 8 characters of an id") ? id.slice(0, 8) : id;
  };

  /** A database that is down fails late: when a duplicate has arrived, or after half a second. */
  const failLate = (id: string): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, 500);
      duplicateArrived.set(id, () => {
        clearTimeout(timer);
        resolve();
      });
    });

  const handle = async (id: string): Promise<Answer> => {
    const key = remembered(id);
    if (!is("handles duplicates again")) {
      if (handled.has(key)) return [200, "duplicate"];
      if (running.has(key)) {
        duplicateArrived.get(id)?.();
        return is("acknowledges a duplicate in flight") ? [200, "in flight"] : [409, "in flight"];
      }
    }
    if (is("answers before it handles")) {
      handled.add(key);
      ledger.later(() => {
        void ledger.record({ id });
      });
      return [200, "accepted"];
    }
    return Promise.race([runHandler(id, key), answerLate(key)]);
  };

  const runHandler = async (id: string, key: string): Promise<Answer> => {
    running.add(key);
    try {
      await ledger.record({ id });
      // The runtime stopped this work with the answer: it had its effect but cannot mark the id.
      if (stopped.has(key)) return [503, "late"];
      handled.add(key);
    } catch {
      if (is("acknowledges a duplicate in flight")) await failLate(id);
      if (is("remembers failed deliveries as handled")) handled.add(key);
      running.delete(key);
      return is("acknowledges failed deliveries") ? [200, "failed"] : [500, "failed"];
    }
    running.delete(key);
    return [200, "handled"];
  };

  const answerLate = async (key: string): Promise<Answer> => {
    await wait(HANDLER_TIMEOUT_MS, undefined, { ref: false });
    if (!running.has(key)) return [503, "late"];
    if (is("forgets late handlers")) running.delete(key);
    if (is("forgets late handlers") || is("answers 409 forever after a late handler")) {
      stopped.add(key);
    }
    return [503, "late"];
  };

  const receive = (req: IncomingMessage, body: Buffer): Answer | Promise<Answer> => {
    if (req.method !== "POST") return [405, "POST only"];
    if (body.length > 1_048_576) {
      return is("acknowledges and drops big bodies") ? [200, "too large"] : refuse("too large");
    }
    for (const [name, grammar] of Object.entries(GRAMMAR)) {
      const value = req.headers[name];
      if (typeof value !== "string" || !grammar.test(value)) return refuse(`malformed ${name}`);
    }
    const id = String(req.headers["x-webhook-id"]);
    const timestamp = String(req.headers["x-webhook-timestamp"]);
    if (is("remembers unverified ids") && handled.has(id)) return [200, "duplicate"];
    if (is("remembers unverified ids")) handled.add(id);
    const prefix = `v1:${timestamp}:${id}:`;
    if (!isSigned(prefix, body, String(req.headers["x-webhook-signature"]))) {
      return refuse("not signed");
    }
    if (Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) {
      return is("acknowledges and drops old deliveries") ? [200, "stale"] : refuse("stale");
    }
    if (is("remembers unverified ids")) handled.delete(id);
    const parsed = Object(JSON.parse(String(body).replace("\uFEFF", ""))) as object;
    const type = is("believes X-Webhook-Type")
      ? req.headers["x-webhook-type"]
      : "alarm" in parsed
        ? "new_alarm"
        : "event" in parsed && "delete_my_data_event";
    if (type === false || Array.isArray(parsed)) return unknown("no record");
    if (type !== req.headers["x-webhook-type"]) return refuse("another type");
    return handle(id);
  };

  const unknown = (text: string): Answer =>
    is("answers 401 to everything unknown") ? [401, text] : [503, text];

  const receiveSafely = async (req: IncomingMessage, body: Buffer): Promise<Answer> => {
    try {
      return await receive(req, body);
    } catch (error) {
      const text = is("answers with the parser's message") ? String(error) : "unreadable";
      return is("verifies re-serialized JSON") ? [409, text] : unknown(text);
    }
  };

  return (req, res) => {
    const read = is("decodes each packet separately") ? readText(req) : buffer(req);
    read.then(
      async (body) => {
        answer(res, await receiveSafely(req, body));
      },
      () => undefined,
    );
  };
}

function answer(res: ServerResponse, [status, text]: Answer): void {
  res.writeHead(status, { "content-type": "text/plain" }).end(text);
}

async function readText(req: IncomingMessage): Promise<Buffer> {
  let text = "";
  for await (const chunk of req) text += String(chunk);
  return Buffer.from(text);
}
