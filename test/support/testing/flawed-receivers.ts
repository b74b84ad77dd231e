import { createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { TEST_SECRET } from "../deliveries.js";
import type { Ledger } from "../ledger.js";

/** What a receiver can be made to do wrong: each is a mistake that receivers are really written with. */
export type ReceiverFlaw =
  | "answers before it handles"
  | "handles copies again"
  | "verifies JSON written anew"
  | "answers 401 to whatever it does not know"
  | "believes X-Webhook-Type"
  | "remembers what it has not verified"
  | "decodes before it verifies"
  | "decodes each piece by itself"
  | "answers with the parser's message"
  | "acknowledges a copy in flight"
  | "acknowledges what has failed"
  | "remembers what has failed"
  | "acknowledges and drops what is old"
  | "acknowledges and drops what is big"
  | "compares a quarter of the signature"
  | "skips a digit of the signature"
  | "answers 409 for ever after a late handler"
  | "forgets a handler that is late"
  | "remembers 8 characters of an id"
  | "remembers ids in lower case";

/** Longer than a failing handler may take. */
const HANDLER_TIMEOUT_MS = 550;

/** What the receiver answers. */
type Verdict = readonly [status: number, text: string];

const GRAMMAR = {
  "x-webhook-id": /^[\w.-]{1,128}$/,
  "x-webhook-timestamp": /^[0-9]{1,12}$/,
  "x-webhook-type": /^[\w.-]{1,128}$/,
  "x-webhook-signature": /^v1=[0-9a-f]{64}$/i,
};

/**
 * A receiver that is written by hand, without a line of ours, and does what the gateway's document asks
 * for. Tests break it in one place: with a flaw it is one that the conformance suite has to catch.
 */
export function handWrittenReceiver(ledger: Ledger, flaw?: ReceiverFlaw): RequestListener {
  const is = (one: ReceiverFlaw) => flaw === one;
  const handled = new Set<string>();
  const running = new Set<string>();
  const stopped = new Set<string>();
  const copyCame = new Map<string, () => void>();

  const refuse = (text: string): Verdict => [
    is("answers 401 to whatever it does not know") ? 401 : 409,
    text,
  ];

  /** Whether the signature fits the body, as the flaw has it. */
  const isSigned = (prefix: string, body: Buffer, signature: string): boolean => {
    let signedBody: string | Buffer = body;
    if (is("verifies JSON written anew")) signedBody = JSON.stringify(JSON.parse(String(body)));
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

  /** A database that is down says so late: when a copy has come, or after a while. */
  const failLate = (id: string): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, 500);
      copyCame.set(id, () => {
        clearTimeout(timer);
        resolve();
      });
    });

  const handle = async (id: string): Promise<Verdict> => {
    const key = remembered(id);
    if (!is("handles copies again")) {
      if (handled.has(key)) return [200, "duplicate"];
      if (running.has(key)) {
        copyCame.get(id)?.();
        return is("acknowledges a copy in flight") ? [200, "in flight"] : [409, "in flight"];
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

  const runHandler = async (id: string, key: string): Promise<Verdict> => {
    running.add(key);
    try {
      await ledger.record({ id });
      // The work that a runtime stops with the answer has had its effect, and marks nothing.
      if (stopped.has(key)) return [503, "late"];
      handled.add(key);
    } catch {
      if (is("acknowledges a copy in flight")) await failLate(id);
      if (is("remembers what has failed")) handled.add(key);
      running.delete(key);
      return is("acknowledges what has failed") ? [200, "failed"] : [500, "failed"];
    }
    running.delete(key);
    return [200, "handled"];
  };

  const answerLate = async (key: string): Promise<Verdict> => {
    await wait(HANDLER_TIMEOUT_MS, undefined, { ref: false });
    if (!running.has(key)) return [503, "late"];
    if (is("forgets a handler that is late")) running.delete(key);
    if (is("forgets a handler that is late") || is("answers 409 for ever after a late handler")) {
      stopped.add(key);
    }
    return [503, "late"];
  };

  const judge = (req: IncomingMessage, body: Buffer): Verdict | Promise<Verdict> => {
    if (req.method !== "POST") return [405, "POST alone"];
    if (body.length > 1_048_576) {
      return is("acknowledges and drops what is big") ? [200, "too large"] : refuse("too large");
    }
    for (const [name, grammar] of Object.entries(GRAMMAR)) {
      const value = req.headers[name];
      if (typeof value !== "string" || !grammar.test(value)) return refuse(`malformed ${name}`);
    }
    const id = String(req.headers["x-webhook-id"]);
    const timestamp = String(req.headers["x-webhook-timestamp"]);
    if (is("remembers what it has not verified") && handled.has(id)) return [200, "duplicate"];
    if (is("remembers what it has not verified")) handled.add(id);
    const prefix = `v1:${timestamp}:${id}:`;
    if (!isSigned(prefix, body, String(req.headers["x-webhook-signature"]))) {
      return refuse("not signed");
    }
    if (Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) {
      return is("acknowledges and drops what is old") ? [200, "stale"] : refuse("stale");
    }
    if (is("remembers what it has not verified")) handled.delete(id);
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

  const unknown = (text: string): Verdict =>
    is("answers 401 to whatever it does not know") ? [401, text] : [503, text];

  const judgeSafely = async (req: IncomingMessage, body: Buffer): Promise<Verdict> => {
    try {
      return await judge(req, body);
    } catch (error) {
      const text = is("answers with the parser's message") ? String(error) : "unreadable";
      return is("verifies JSON written anew") ? [409, text] : unknown(text);
    }
  };

  return (req, res) => {
    const read = is("decodes each piece by itself") ? readText(req) : buffer(req);
    read.then(
      async (body) => {
        answer(res, await judgeSafely(req, body));
      },
      () => undefined,
    );
  };
}

function answer(res: ServerResponse, [status, text]: Verdict): void {
  res.writeHead(status, { "content-type": "text/plain" }).end(text);
}

async function readText(req: IncomingMessage): Promise<Buffer> {
  let text = "";
  for await (const chunk of req) text += String(chunk);
  return Buffer.from(text);
}
