import type { IncomingMessage } from "node:http";
import { TEST_SECRET } from "../support/deliveries.js";
import { HANGS, type Flaw } from "./flaw.js";
import { RightReceiver, type Answer, type Refusal, type Request } from "./right-receiver.js";

/** Each checks the age of a delivery in a wrong way. */
const freshnessFlaws: readonly Flaw[] = [
  ["does not look at the timestamp", "stale", withAge(() => true)],
  ["accepts any timestamp of the past", "stale", withAge((seconds) => seconds > -300)],
  ["accepts any timestamp of the future", "future", withAge((seconds) => seconds < 300)],
  ["takes seconds for milliseconds", "stale", withAge((seconds) => Math.abs(seconds) < 300_000)],
  [
    "does not look at the timestamp of events",
    "stale",
    class extends RightReceiver {
      override isFresh(request: Request) {
        return request.type !== "new_alarm" || super.isFresh(request);
      }
    },
  ],
  [
    "takes the seconds of the age without its days",
    "stale",
    withAge((seconds) => Math.abs(seconds % 86_400) <= 300),
  ],
  ["compares the hour of a clock with twelve", "stale", withAge((s) => Math.abs(s % 43_200) < 300)],
  ["compares the day of the week", "stale", withAge((s) => Math.abs(s % (7 * 86_400)) < 300)],
  ["compares dates without the year", "future", withAge((s) => Math.abs(s % (365 * 86_400)) < 300)],
  ["keeps 32 bits of the age", "future", withAge((seconds) => Math.abs(seconds | 0) < 300)],
  [
    "takes the timestamp 0 for none",
    "stale",
    class extends RightReceiver {
      override isFresh(request: Request) {
        return Number(request.timestamp) === 0 || super.isFresh(request);
      }
    },
  ],
  ["tolerates half a minute", "minute_old", withAge((seconds) => Math.abs(seconds) < 30)],
  [
    "tolerates no timestamp of the future",
    "seconds_ahead",
    withAge((seconds) => seconds >= 0 && seconds < 300),
  ],
  [
    "takes a timestamp that is no number for a fresh one",
    "signed_malformed_headers",
    withAge((seconds) => !(Math.abs(seconds) > 300), { timestamp: /^/ }),
  ],
  [
    "also accepts milliseconds",
    "signed_malformed_headers",
    class extends RightReceiver {
      override grammar() {
        return { ...super.grammar(), timestamp: /^[0-9]{1,13}$/ };
      }
      override isFresh(request: Request) {
        const { timestamp } = request;
        return super.isFresh({ ...request, timestamp: timestamp.slice(0, 10) });
      }
    },
  ],
  [
    "also accepts ISO 8601",
    "signed_malformed_headers",
    class extends RightReceiver {
      override grammar() {
        return { ...super.grammar(), timestamp: /^[\dTZ:.-]+$/ };
      }
      override isFresh(request: Request) {
        const at = Date.parse(request.timestamp);
        return Math.abs(Date.now() - at) < 300_000 || super.isFresh(request);
      }
    },
  ],
  ["accepts an empty id", "signed_malformed_headers", withGrammar({ id: /^[\w.-]{0,128}$/ })],
  ["accepts a colon in an id", "signed_malformed_headers", withGrammar({ id: /^[\w.:-]{1,128}$/ })],
  ["accepts an id of any length", "signed_malformed_headers", withGrammar({ id: /^[\w.-]+$/ })],
  [
    "acknowledges and drops old deliveries",
    "drifted_clock_sent_again",
    refusing((reason) => (reason === "stale" ? 200 : undefined)),
  ],
];

/** Each answers a status that makes the gateway give up. */
const statusFlaws: readonly Flaw[] = [
  [
    "answers 401 to a wrong signature",
    "wrong_secret_sent_again",
    refusing((reason) => (reason === "mismatch" ? 401 : undefined)),
  ],
  [
    "answers 403 to a wrong signature of an event",
    "wrong_secret_sent_again",
    refusing((reason, request) =>
      reason === "mismatch" && request?.type !== "new_alarm" ? 403 : undefined,
    ),
  ],
  [
    "answers 401 when there is no signature",
    "unsigned_sent_again",
    class extends RightReceiver {
      override receive(req: IncomingMessage, body: Buffer) {
        if (req.headers["x-webhook-signature"] === undefined) return [401, "no signature"] as const;
        return super.receive(req, body);
      }
    },
  ],
  [
    "answers 400 to an old timestamp",
    "drifted_clock_sent_again",
    refusing((reason) => (reason === "stale" ? 400 : undefined)),
  ],
  [
    "answers 422 to malformed headers",
    "lost_headers_sent_again",
    refusing((reason) => (reason === "malformed" ? 422 : undefined)),
  ],
  [
    "answers 400 to a body over the limit",
    "oversize",
    refusing((reason) => (reason === "too large" ? 400 : undefined)),
  ],
  [
    "answers 413 to a body over the limit",
    "unlisted_statuses",
    refusing((reason) => (reason === "too large" ? 413 : undefined)),
  ],
  [
    "acknowledges and drops bodies over the limit",
    "oversize",
    refusing((reason) => (reason === "too large" ? 200 : undefined)),
  ],
  [
    "acknowledges a forged body over the limit",
    "big_forgery",
    refusing((reason) => (reason === "too large" ? 202 : undefined)),
  ],
  ["redirects what it refuses", "unlisted_statuses", refusing(() => 302)],
  [
    "answers 415 to text/plain",
    "content_types",
    before(({ headers }) => (headers["content-type"] === "text/plain" ? 415 : undefined)),
  ],
  [
    "answers 400 without a content type",
    "content_types",
    before(({ headers }) => (headers["content-type"] === undefined ? 400 : undefined)),
  ],
  [
    "answers 415 to any other spelling of application/json",
    "content_types",
    before(({ headers }) => (headers["content-type"] === "application/json" ? undefined : 415)),
  ],
  [
    "answers 400 to the content type of a form",
    "form_content_types",
    before(({ headers }) => (String(headers["content-type"]).includes("form") ? 400 : undefined)),
  ],
  [
    "answers 400 to upper-case hexadecimal",
    "upper_case_signature",
    before(({ headers }) =>
      /[A-F]/.test(String(headers["x-webhook-signature"])) ? 400 : undefined,
    ),
  ],
  [
    "answers 411 without Content-Length",
    "chunked",
    before(({ headers }) => (headers["content-length"] === undefined ? 411 : undefined)),
  ],
  [
    "refuses what came through a proxy",
    "proxy_headers",
    before(({ headers }) => ("x-forwarded-for" in headers ? 403 : undefined)),
  ],
  [
    "refuses what X-Real-IP says is not the gateway",
    "proxy_headers",
    before(({ headers }) => ("x-real-ip" in headers ? 403 : undefined)),
  ],
  [
    "obeys X-HTTP-Method-Override",
    "method_override",
    before(({ headers }) => {
      const method = headers["x-http-method-override"];
      return method === undefined || method === "POST" ? undefined : 405;
    }),
  ],
  [
    "answers with a page when X-HTTP-Method-Override says GET",
    "method_override",
    before(({ headers }) => (headers["x-http-method-override"] === "GET" ? 200 : undefined)),
  ],
  [
    "answers 505 to HTTP/1.0",
    "http_1_0",
    before(({ httpVersion }) => (httpVersion === "1.0" ? 505 : undefined)),
  ],
  [
    "refuses headers that it does not know",
    "unknown_headers",
    before(({ headers }) => ("x-webhook-attempt" in headers ? 400 : undefined)),
  ],
];

/** Each says too much, or answers a server error to anyone. */
const answerFlaws: readonly Flaw[] = [
  [
    "answers 500 to a signature that is not hexadecimal",
    "no_server_errors",
    class extends RightReceiver {
      override receive(req: IncomingMessage, body: Buffer) {
        const digits = String(req.headers["x-webhook-signature"]).slice("v1=".length);
        if (!/^[0-9a-f]*$/i.test(digits)) return [500, "RangeError"] as const;
        return super.receive(req, body);
      }
    },
  ],
  [
    "answers 500 to missing headers",
    "no_server_errors",
    refusing((reason) => (reason === "malformed" ? 500 : undefined)),
  ],
  [
    "answers 503 to a wrong signature",
    "no_server_errors",
    refusing((reason) => (reason === "mismatch" ? 503 : undefined)),
  ],
  [
    "does not answer a wrong signature",
    "wrong_secret",
    class extends RightReceiver {
      override process(request: Request) {
        return this.isSigned(request)
          ? super.process(request)
          : new Promise<never>(() => undefined);
      }
    },
    HANGS,
  ],
  [
    "closes the connection instead of an answer",
    "unsigned",
    class extends RightReceiver {
      override refuse(): Answer {
        throw new Error("refused");
      }
    },
  ],
  ["handles a PUT", "other_methods", taking("PUT")],
  ["handles a DELETE", "other_methods", taking("DELETE")],
  [
    "handles what a GET names in its headers",
    "other_methods",
    class extends RightReceiver {
      override async receive(req: IncomingMessage, body: Buffer) {
        const id = this.header(req, "x-webhook-id") ?? "";
        if (req.method === "GET") await this.ledger.record({ id });
        return super.receive(req, body);
      }
    },
  ],
  [
    "answers with the message of its parser",
    "no_echo",
    class extends RightReceiver {
      override parse(body: Buffer) {
        return JSON.parse(String(body)) as unknown;
      }
      override unreadable(error: unknown): Answer {
        return [503, String(error)];
      }
    },
  ],
  [
    "answers a refusal with the body that it got",
    "no_echo",
    class extends RightReceiver {
      override refuse(reason: Refusal, request?: Request): Answer {
        return [409, `${reason}: ${String(request?.body)}`];
      }
    },
  ],
  [
    "answers with the record that it has handled",
    "no_echo",
    class extends RightReceiver {
      override done({ body }: Request): Answer {
        return [200, String(body)];
      }
    },
  ],
  [
    "answers with the signature that it got",
    "no_echo",
    class extends RightReceiver {
      override done({ signature }: Request): Answer {
        return [200, "ok", { "x-verified": signature }];
      }
    },
  ],
  [
    "answers with its settings, the secret among them",
    "leaked_secret",
    class extends RightReceiver {
      override unreadable(_: unknown, request: Request): Answer {
        return [503, JSON.stringify({ secrets: this.secrets(request) })];
      }
    },
  ],
  [
    "shows its settings to GET",
    "leaked_secret",
    class extends RightReceiver {
      override receive(req: IncomingMessage, body: Buffer) {
        if (req.method !== "GET") return super.receive(req, body);
        return [200, `<pre>SECRET=${TEST_SECRET}</pre>`] as const;
      }
    },
  ],
  [
    "shows its settings on a page about an error, the secret in base64",
    "leaked_secret",
    class extends RightReceiver {
      override unknown(): Answer {
        return [500, `<pre>${Buffer.from(TEST_SECRET).toString("base64")}</pre>`];
      }
    },
  ],
  [
    "answers with the bytes of its key in hexadecimal",
    "leaked_secret",
    class extends RightReceiver {
      override done(): Answer {
        return [200, "ok", { "x-key": Buffer.from(TEST_SECRET).toString("hex").toUpperCase() }];
      }
    },
  ],
  [
    "shows its settings to a method that it does not know",
    "leaked_secret",
    class extends RightReceiver {
      override refuse(reason: Refusal): Answer {
        return reason === "method" ? [405, `no route, ${TEST_SECRET}`] : super.refuse(reason);
      }
    },
  ],
];

export const requestFlaws: readonly Flaw[] = [...freshnessFlaws, ...statusFlaws, ...answerFlaws];

type Grammar = ReturnType<RightReceiver["grammar"]>;

function withGrammar(changes: Partial<Grammar>) {
  return class extends RightReceiver {
    override grammar() {
      return { ...super.grammar(), ...changes };
    }
  };
}

/** Judges the age of a delivery: seconds, negative for the future. */
function withAge(isFresh: (seconds: number) => boolean, grammar: Partial<Grammar> = {}) {
  return class extends withGrammar(grammar) {
    override isFresh({ timestamp }: Request) {
      return isFresh(Date.now() / 1_000 - Number(timestamp));
    }
  };
}

function refusing(statusOf: (reason: Refusal, request?: Request) => number | undefined) {
  return class extends RightReceiver {
    override refuse(reason: Refusal, request?: Request): Answer {
      const status = statusOf(reason, request);
      return status === undefined ? super.refuse(reason, request) : [status, reason];
    }
  };
}

/** Answers some requests before it looks at them. */
function before(statusOf: (req: IncomingMessage) => number | undefined) {
  return class extends RightReceiver {
    override receive(req: IncomingMessage, body: Buffer) {
      const status = statusOf(req);
      return status === undefined ? super.receive(req, body) : ([status, "refused"] as const);
    }
  };
}

/** Takes another method for POST. */
function taking(method: string) {
  return class extends RightReceiver {
    override receive(req: IncomingMessage, body: Buffer) {
      if (req.method === method) req.method = "POST";
      return super.receive(req, body);
    }
  };
}
