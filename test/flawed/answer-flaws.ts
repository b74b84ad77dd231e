import type { IncomingMessage } from "node:http";
import { TEST_SECRET } from "../support/deliveries.js";
import { doingFirst, hanging, never, overriding, withGrammar, type Flaws } from "./flaw.js";
import type { Refusal, Request } from "./right-receiver.js";

/** Each checks the age of a delivery in a wrong way. */
const freshnessFlaws: Flaws = {
  stale: {
    "does not look at the timestamp": withAge(() => true),
    "accepts any timestamp of the past": withAge((seconds) => seconds > -300),
    "takes seconds for milliseconds": withAge((seconds) => Math.abs(seconds) < 300_000),
    "does not look at the timestamp of events": overriding((right) => ({
      isFresh: (request) => request.type !== "new_alarm" || right.isFresh(request),
    })),
    "takes the seconds of the age without its days": withAge(
      (seconds) => Math.abs(seconds % 86_400) <= 300,
    ),
    "compares the hour of a clock with twelve": withAge(
      (seconds) => Math.abs(seconds % 43_200) < 300,
    ),
    "compares the day of the week": withAge((seconds) => Math.abs(seconds % (7 * 86_400)) < 300),
    "takes the timestamp 0 for none": overriding((right) => ({
      isFresh: (request) => Number(request.timestamp) === 0 || right.isFresh(request),
    })),
  },
  future: {
    "accepts any timestamp of the future": withAge((seconds) => seconds < 300),
    "compares dates without the year": withAge(
      (seconds) => Math.abs(seconds % (365 * 86_400)) < 300,
    ),
    "keeps 32 bits of the age": withAge((seconds) => Math.abs(seconds | 0) < 300),
  },
  minute_old: { "tolerates half a minute": withAge((seconds) => Math.abs(seconds) < 30) },
  seconds_ahead: {
    "tolerates no timestamp of the future": withAge((seconds) => seconds >= 0 && seconds < 300),
  },
  signed_malformed_headers: {
    "takes a timestamp that is no number for a fresh one": overriding((right) => ({
      grammar: () => ({ ...right.grammar(), timestamp: /^/ }),
      isFresh: (request) => !(Math.abs(ageOf(request)) > 300),
    })),
    "also accepts milliseconds": overriding((right) => ({
      grammar: () => ({ ...right.grammar(), timestamp: /^[0-9]{1,13}$/ }),
      isFresh: (request) =>
        right.isFresh({ ...request, timestamp: request.timestamp.slice(0, 10) }),
    })),
    "also accepts ISO 8601": overriding((right) => ({
      grammar: () => ({ ...right.grammar(), timestamp: /^[\dTZ:.-]+$/ }),
      isFresh(request) {
        const at = Date.parse(request.timestamp);
        return Math.abs(Date.now() - at) < 300_000 || right.isFresh(request);
      },
    })),
    "accepts an empty id": withGrammar({ id: /^[\w.-]{0,128}$/ }),
    "accepts a colon in an id": withGrammar({ id: /^[\w.:-]{1,128}$/ }),
    "accepts an id of any length": withGrammar({ id: /^[\w.-]+$/ }),
  },
  drifted_clock_sent_again: { "acknowledges and drops old deliveries": refusing("stale", 200) },
};

/** Each answers a status that makes the gateway give up. */
const statusFlaws: Flaws = {
  wrong_secret_sent_again: {
    "answers 401 to a wrong signature": refusing("mismatch", 401),
    "answers 403 to a wrong signature of an event": overriding((right) => ({
      refuse: (reason, request) =>
        reason === "mismatch" && request?.type !== "new_alarm"
          ? [403, reason]
          : right.refuse(reason, request),
    })),
  },
  unsigned_sent_again: {
    "answers 401 when there is no signature": before(({ headers }) =>
      headers["x-webhook-signature"] === undefined ? 401 : undefined,
    ),
  },
  drifted_clock_sent_again: { "answers 400 to an old timestamp": refusing("stale", 400) },
  lost_headers_sent_again: { "answers 422 to malformed headers": refusing("malformed", 422) },
  oversize: {
    "answers 400 to a body over the limit": refusing("too large", 400),
    "acknowledges and drops bodies over the limit": refusing("too large", 200),
  },
  big_forgery: { "acknowledges a forged body over the limit": refusing("too large", 202) },
  unlisted_statuses: {
    "answers 413 to a body over the limit": refusing("too large", 413),
    "redirects what it refuses": overriding({ refuse: (reason) => [302, reason] }),
  },
  content_types: {
    "answers 415 to text/plain": before(({ headers }) =>
      headers["content-type"] === "text/plain" ? 415 : undefined,
    ),
    "answers 400 without a content type": before(({ headers }) =>
      headers["content-type"] === undefined ? 400 : undefined,
    ),
    "answers 415 to any other spelling of application/json": before(({ headers }) =>
      headers["content-type"] === "application/json" ? undefined : 415,
    ),
  },
  form_content_types: {
    "answers 400 to the content type of a form": before(({ headers }) =>
      String(headers["content-type"]).includes("form") ? 400 : undefined,
    ),
  },
  upper_case_signature: {
    "answers 400 to upper-case hexadecimal": before(({ headers }) =>
      /[A-F]/.test(String(headers["x-webhook-signature"])) ? 400 : undefined,
    ),
  },
  chunked: {
    "answers 411 without Content-Length": before(({ headers }) =>
      headers["content-length"] === undefined ? 411 : undefined,
    ),
  },
  proxy_headers: {
    "refuses what came through a proxy": before(({ headers }) =>
      "x-forwarded-for" in headers ? 403 : undefined,
    ),
    "refuses what X-Real-IP says is not the gateway": before(({ headers }) =>
      "x-real-ip" in headers ? 403 : undefined,
    ),
  },
  method_override: {
    "obeys X-HTTP-Method-Override": before(({ headers }) => {
      const method = headers["x-http-method-override"];
      return method === undefined || method === "POST" ? undefined : 405;
    }),
    "answers with a page when X-HTTP-Method-Override says GET": before(({ headers }) =>
      headers["x-http-method-override"] === "GET" ? 200 : undefined,
    ),
  },
  http_1_0: {
    "answers 505 to HTTP/1.0": before(({ httpVersion }) =>
      httpVersion === "1.0" ? 505 : undefined,
    ),
  },
  unknown_headers: {
    "refuses headers that it does not know": before(({ headers }) =>
      "x-webhook-attempt" in headers ? 400 : undefined,
    ),
  },
};

/** Each says too much, or answers a server error to anyone. */
const answerFlaws: Flaws = {
  no_server_errors: {
    "answers 500 to a signature that is not hexadecimal": before(({ headers }) => {
      const digits = String(headers["x-webhook-signature"]).slice("v1=".length);
      return /^[0-9a-f]*$/i.test(digits) ? undefined : 500;
    }),
    "answers 500 to missing headers": refusing("malformed", 500),
    "answers 503 to a wrong signature": refusing("mismatch", 503),
  },
  wrong_secret: {
    "does not answer a wrong signature": hanging(
      overriding((right) => ({
        process: (request) => (right.isSigned(request) ? right.process(request) : never()),
      })),
    ),
  },
  unsigned: {
    "closes the connection instead of an answer": overriding({
      refuse() {
        throw new Error("refused");
      },
    }),
  },
  other_methods: {
    "handles a PUT": taking("PUT"),
    "handles a DELETE": taking("DELETE"),
  },
  redirected_delivery: {
    "answers 200 to every GET and HEAD": overriding({ hasDeliveryMark: () => false }),
    "answers 204 to a HEAD with the headers of a delivery": before(({ method }) =>
      method === "HEAD" ? 204 : undefined,
    ),
    "handles what a GET names in its headers": overriding((right) => ({
      async receive(req, body) {
        const id = right.header(req, "x-webhook-id") ?? "";
        if (req.method === "GET") await right.ledger.record({ id });
        return right.receive(req, body);
      },
    })),
  },
  no_echo: {
    "answers with the message of its parser": overriding({
      parse: (body) => JSON.parse(String(body)) as unknown,
      unreadable: (error) => [503, String(error)],
    }),
    "answers a refusal with the body that it got": overriding({
      refuse: (reason, request) => [409, `${reason}: ${String(request?.body)}`],
    }),
    "answers with the record that it has handled": overriding({
      done: ({ body }) => [200, String(body)],
    }),
    "answers with the signature that it got": overriding({
      done: ({ signature }) => [200, "ok", { "x-verified": signature }],
    }),
  },
  leaked_secret: {
    "answers with its settings, the secret among them": overriding((right) => ({
      unreadable: (_error, request) => [503, JSON.stringify({ secrets: right.secrets(request) })],
    })),
    "shows its settings to GET": overriding((right) => ({
      receive: (req, body) =>
        req.method === "GET" ? [200, `<pre>SECRET=${TEST_SECRET}</pre>`] : right.receive(req, body),
    })),
    "shows its settings on a page about an error, the secret in base64": overriding({
      unknown: () => [500, `<pre>${Buffer.from(TEST_SECRET).toString("base64")}</pre>`],
    }),
    "answers with the bytes of its key in hexadecimal": overriding({
      done: () => [200, "ok", { "x-key": Buffer.from(TEST_SECRET).toString("hex").toUpperCase() }],
    }),
    "shows its settings to a method that it does not know": overriding((right) => ({
      refuse: (reason) =>
        reason === "method" ? [405, `no route, ${TEST_SECRET}`] : right.refuse(reason),
    })),
  },
};

export const requestFlaws: readonly Flaws[] = [freshnessFlaws, statusFlaws, answerFlaws];

/** The age of a request in seconds, negative for the future. */
function ageOf({ timestamp }: Request): number {
  return Date.now() / 1_000 - Number(timestamp);
}

/** Judges the age of a delivery. */
function withAge(isFresh: (seconds: number) => boolean) {
  return overriding({ isFresh: (request) => isFresh(ageOf(request)) });
}

/** Answers another status for one reason. */
function refusing(refused: Refusal, status: number) {
  return overriding((right) => ({
    refuse: (reason, request) =>
      reason === refused ? [status, reason] : right.refuse(reason, request),
  }));
}

/** Answers some requests before it looks at them. */
function before(statusOf: (req: IncomingMessage) => number | undefined) {
  return overriding((right) => ({
    receive(req, body) {
      const status = statusOf(req);
      return status === undefined ? right.receive(req, body) : [status, "refused"];
    },
  }));
}

/** Takes another method for POST. */
function taking(method: string) {
  return doingFirst("receive", (_right, req) => {
    if (req.method === method) req.method = "POST";
  });
}
