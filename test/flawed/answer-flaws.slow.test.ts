import type { ServerResponse } from "node:http";
import { gunzipSync } from "node:zlib";
import { TEST_SECRET } from "../support/deliveries.js";
import { convicts, inJavaScript } from "./convicts.js";
import {
  answeringFirst,
  doingFirst,
  each,
  hanging,
  keyed,
  has,
  named,
  never,
  overriding,
  replacing,
  parsingLoosely,
  refusing,
  withGrammar,
  type Flaws,
  type Judged,
} from "./flaw.js";
import type { Answer, Request } from "./right-receiver.js";

/** Each checks the age of a delivery in a wrong way. */
const freshnessFlaws: Flaws = {
  stale: {
    "takes the age's seconds without its days": withAge(
      (seconds) => Math.abs(seconds % 86_400) <= 300,
    ),
    "compares the hour of a clock with twelve": withAge(
      (seconds) => Math.abs(seconds % 43_200) < 300,
    ),
    "compares the day of the week": withAge((seconds) => Math.abs(seconds % (7 * 86_400)) < 300),
    "tolerates 50 minutes": withAge((seconds) => Math.abs(seconds) < 3_000),
    "takes the Date header for the time": replacing("isFresh", (right, request) => {
      const now = Date.parse(request.req.headers.date ?? "") / 1_000;
      return Math.abs(now - Number(request.timestamp)) < 300 || right.isFresh(request);
    }),
    "takes the timestamp 0 for none": freshIf(({ timestamp }) => Number(timestamp) === 0),
    "takes the Date header for the time of signing": replacing("isFresh", (right, request) => {
      const { date } = request.req.headers;
      if (date === undefined) return right.isFresh(request);
      return Math.abs(Date.now() - Date.parse(date)) < 300_000;
    }),
    ...each("does not look at the", freshIf, {
      "timestamp of events": ({ type }) => type !== "new_alarm",
      "age of a retry": ({ req }) => has("x-webhook-attempt")(req),
      "age of a replay": ({ req }) => has("x-replay", /^1$/)(req),
      "age in tests": ({ req }) => has("x-env", /^test$/)(req),
    }),
  },
  future: {
    "compares dates without the year": withAge(
      (seconds) => Math.abs(seconds % (365 * 86_400)) < 300,
    ),
    "tolerates 50 minutes of the future": withAge((seconds) => seconds > -3_000 && seconds < 300),
    "keeps 32 bits of the age": withAge((seconds) => Math.abs(seconds | 0) < 300),
  },
  minute_old: { "tolerates half a minute": withAge((seconds) => Math.abs(seconds) < 30) },
  seconds_ahead: {
    "tolerates no timestamp of the future": withAge((seconds) => seconds >= 0 && seconds < 300),
    "tolerates 30 seconds of the future": withAge((seconds) => seconds > -30 && seconds < 300),
    "tolerates 50 seconds of the future": withAge((seconds) => seconds > -50 && seconds < 300),
  },
  signed_malformed_headers: {
    "takes a timestamp that is no number for fresh": withGrammar({ timestamp: /^/ }, () => ({
      isFresh: (request) => !(Math.abs(ageOf(request)) > 300),
    })),
    "also accepts milliseconds": withGrammar({ timestamp: /^[0-9]{1,13}$/ }, (right) => ({
      isFresh: (request) =>
        right.isFresh({ ...request, timestamp: request.timestamp.slice(0, 10) }),
    })),
    "also accepts ISO 8601": withGrammar({ timestamp: /^[\dTZ:.-]+$/ }, (right) => ({
      isFresh(request) {
        const at = Date.parse(request.timestamp);
        return Math.abs(Date.now() - at) < 300_000 || right.isFresh(request);
      },
    })),
    "accepts an empty id": withGrammar({ id: /^[\w.-]{0,128}$/ }),
    "accepts a colon in an id": withGrammar({ id: /^[\w.:-]{1,128}$/ }),
    "accepts an id of any length": withGrammar({ id: /^[\w.-]+$/ }),
  },
};

/** Each answers a status that makes the gateway give up. */
const statusFlaws: Flaws = {
  wrong_secret_sent_again: {
    "answers 401 to a wrong signature": refusing("mismatch", 401),
    "answers 403 to a wrong signature of an event": replacing("refuse", (right, reason, request) =>
      reason === "mismatch" && request?.type !== "new_alarm"
        ? [403, reason]
        : right.refuse(reason, request),
    ),
  },
  unsigned_sent_again: {
    "answers 401 when there is no signature": answeringFirst(401)(
      ({ headers }) => !("x-webhook-signature" in headers),
    ),
  },
  drifted_clock_sent_again: {
    "drops old deliveries": refusing("stale", 200),
    "answers 400 to an old timestamp": refusing("stale", 400),
  },
  lost_headers_sent_again: { "answers 422 to malformed headers": refusing("malformed", 422) },
  oversize: {
    "answers 400 to a body over the limit": refusing("too large", 400),
    "drops bodies over the limit": refusing("too large", 200),
    "does not answer a genuine oversize body": hanging(
      replacing("readBody", async (right, req) => (await right.readBody(req)) ?? never()),
    ),
  },
  big_forgery: {
    "acknowledges a forged oversize body": refusing("too large", 202),
    "accepts nothing after an oversize body": overriding((right) => {
      let isFull = false;
      return {
        async readBody(req) {
          const body = isFull ? undefined : await right.readBody(req);
          isFull ||= body === undefined;
          return body;
        },
      };
    }),
  },
  unlisted_statuses: {
    "answers 413 to a body over the limit": refusing("too large", 413),
    "redirects what it refuses": overriding({ refuse: (reason) => [302, reason] }),
  },
  content_types: {
    ...each("answers 415 to", answeringFirst(415), {
      "text/plain": has("content-type", /^text\/plain$/),
      "any other spelling of application/json": ({ headers }) =>
        headers["content-type"] !== "application/json",
    }),
    "answers 400 without a content type": answeringFirst(400)(
      ({ headers }) => headers["content-type"] === undefined,
    ),
  },
  form_content_types: {
    "answers 400 to the content type of a form": answeringFirst(400)(has("content-type", /form/)),
  },
  upper_case_signature: {
    "answers 400 to upper-case hexadecimal": answeringFirst(400)(
      has("x-webhook-signature", /[A-F]/),
    ),
  },
  chunked: {
    "answers 411 without Content-Length": answeringFirst(411)(
      ({ headers }) => headers["content-length"] === undefined,
    ),
    "reads as many bytes as Content-Length says": replacing("readBody", async (right, req) => {
      const body = await right.readBody(req);
      return body?.subarray(0, Number(req.headers["content-length"] ?? 0));
    }),
  },
  proxy_headers: each("refuses what", answeringFirst(403), {
    "came through a proxy": has("x-forwarded-for"),
    "X-Real-IP says is not the gateway": has("x-real-ip"),
  }),
  method_override: {
    "obeys X-HTTP-Method-Override": answeringFirst(405)(
      has("x-http-method-override", /^(?!POST$)/),
    ),
    "answers a page when X-HTTP-Method-Override says GET": answeringFirst(200)(
      has("x-http-method-override", /^GET$/),
    ),
  },
  http_1_0: {
    "answers 505 to HTTP/1.0": answeringFirst(505)(({ httpVersion }) => httpVersion === "1.0"),
  },
  many_headers: {
    "answers 431 to 4 kB of headers": answeringFirst(431)(
      ({ rawHeaders }) => rawHeaders.join("").length > 4_096,
    ),
    "answers 400 to more than forty headers": answeringFirst(400)(
      ({ rawHeaders }) => rawHeaders.length > 80,
    ),
  },
  unknown_headers: {
    "refuses headers that it does not know": answeringFirst(400)(has("x-webhook-attempt")),
    ...each("answers 403 to", answeringFirst(403), {
      "python-requests": has("user-agent", /python/),
      "what looks like a script": has("user-agent", /curl|java|go-http/i),
    }),
    "drops what calls itself a browser": answeringFirst(200)(has("user-agent", /^Mozilla/)),
  },
  hostile_text: each(
    "answers 403 to",
    (word) => answeringFirst(403)((_req, body) => body.includes(word)),
    named("<?", "<!", "`", "%00", "https://user", "UNION SELECT", "javascript:", "cmd.exe"),
  ),
};

/** Each says too much, or answers a server error to anyone. */
const answerFlaws: Flaws = {
  no_server_errors: {
    "answers 500 to a signature that is not hexadecimal": answeringFirst(500)(
      ({ headers }) =>
        !/^[0-9a-f]*$/i.test(String(headers["x-webhook-signature"]).slice("v1=".length)),
    ),
    "answers 503 to a wrong signature": refusing("mismatch", 503),
    "breaks off at the JSON null before it verifies": doingFirst("receive", (_right, _req, body) =>
      Object.keys(JSON.parse(/^null$/.exec(String(body))?.[0] ?? "{}") as object),
    ),
  },
  wrong_secret: {
    "does not answer a wrong signature": hanging(
      replacing("process", (right, request) =>
        right.isSigned(request) ? right.process(request) : never(),
      ),
    ),
  },
  other_methods: {
    ...each("handles a", taking, named("PUT", "DELETE")),
    "breaks off at a GET": replacing("receive", (right, req, body) =>
      req.method === "GET" ? Promise.reject(new Error("no body")) : right.receive(req, body),
    ),
  },
  redirected_delivery: {
    "answers 200 to every GET and HEAD": overriding({ hasDeliveryMark: () => false }),
    "answers 204 to a HEAD with a delivery's headers": answeringFirst(204)(
      ({ method }) => method === "HEAD",
    ),
    "handles what a GET names in its headers": replacing("receive", async (right, req, body) => {
      const id = right.header(req, "x-webhook-id") ?? "";
      if (req.method === "GET") await right.ledger.record({ id });
      return right.receive(req, body);
    }),
  },
  other_paths: {
    "answers 200 to every other path": answeringFirst([200, "<!doctype html><title>App</title>"])(
      ({ url }) => url !== "/webhooks/gateway",
    ),
  },
  no_echo: {
    "answers with the message of its parser": overriding({
      parse: (body) => JSON.parse(String(body)) as unknown,
      unreadable: (error) => [503, String(error)],
    }),
    "answers a refusal with its body": overriding({
      refuse: (reason, request) => [409, `${reason}: ${String(request?.body)}`],
    }),
    "answers a failure with the headers of the request": overriding({
      failed: ({ req }) => [500, JSON.stringify(req.headers)],
    }),
    "answers with the record it has handled": overriding({
      done: ({ body }) => [200, String(body)],
    }),
    "answers a failure with its stack": overriding({
      failed: () => [500, `<pre>${new Error("failed").stack ?? ""}</pre>`],
    }),
    "answers a failure with the error of its database": overriding({
      failed: () => [500, 'relation "alarms" does not exist'],
    }),
    "answers a failure with the URL of its database": overriding({
      failed: () => [500, "connect to postgres://db-7.example:5432/alarms refused"],
    }),
    "answers a duplicate with the record": overriding({
      duplicate: ({ body }) => [200, String(body)],
    }),
    "lists its ids to GET": replacing("receive", (right, req, body) =>
      req.method === "GET" ? [200, [...right.handled].join()] : right.receive(req, body),
    ),
    "answers a challenge of GET": replacing("receive", (right, req, body) => {
      const { searchParams } = new URL(String(req.url), "http://localhost");
      const challenge = searchParams.get("hub.challenge");
      return challenge === null ? right.receive(req, body) : [200, challenge];
    }),
    "shows the last record to GET": overriding((right) => {
      let last = "";
      return {
        done(request) {
          last = String(request.body);
          return right.done(request);
        },
        receive: (req, body) => (req.method === "GET" ? [200, last] : right.receive(req, body)),
      };
    }),
    "answers with the signature that it got": overriding({
      done: ({ signature }) => [200, "ok", { "x-verified": signature }],
    }),
  },
  leaked_secret: {
    "answers with its settings and the secret": replacing(
      "unreadable",
      (right, _error, request) => [503, JSON.stringify({ secrets: right.secrets(request) })],
    ),
    "shows its settings to GET": answeringFirst([200, `<pre>SECRET=${TEST_SECRET}</pre>`])(
      ({ method }) => method === "GET",
    ),
    "shows its settings on an error page, the secret in base64": overriding({
      unknown: () => [500, `<pre>${Buffer.from(TEST_SECRET).toString("base64")}</pre>`],
    }),
    "answers with its key in hexadecimal": overriding({
      done: () => [200, "ok", { "x-key": Buffer.from(TEST_SECRET).toString("hex").toUpperCase() }],
    }),
    "shows its settings when its handler fails": overriding({
      failed: () => [500, `no database, ${TEST_SECRET}`],
    }),
    "shows its settings to an unknown method": replacing("refuse", (right, reason) =>
      reason === "method" ? [405, `no route, ${TEST_SECRET}`] : right.refuse(reason),
    ),
  },
};

const PAGE: Answer = [200, "<!doctype html><h1>Back soon</h1>", { "content-type": "text/html" }];
const OK: Answer = [200, "ok"];
const isAttack = (_req: unknown, body: Buffer) => body.includes("javascript:");
const isRobot = has("user-agent", /^Mozilla/);
const isBig = (_req: unknown, body: Buffer) => body.length > 100_000;

/** Each has something in front that answers 2xx in its place. Nothing counts what was handled: the answer convicts it. */
const frontFlaws: Flaws = {
  hostile_text: {
    "has a firewall that blocks javascript: by a page with 200": behind(PAGE, isAttack),
    ...each("names its outcome behind a firewall that blocks javascript:", namedBehind(isAttack), {
      "by ok": OK,
      "by a page": PAGE,
    }),
  },
  unknown_headers: {
    "has a filter that answers robots a page with 200": behind(PAGE, isRobot),
    "names its outcome behind a filter that answers robots ok": namedBehind(isRobot)(OK),
  },
  big_alarm: {
    "has a proxy that answers a page with 200 to 100 kB": behind(PAGE, isBig),
    "names its outcome behind a proxy that answers ok to 100 kB": namedBehind(isBig)(OK),
  },
};

/** Each reads requests or keeps connections in a wrong way. */
const transportFlaws: Flaws = {
  largest_body: {
    "reads half a megabyte": replacing("readBody", (right, req) => right.readBody(req, 524_288)),
  },
  split_characters: {
    "decodes each packet separately": replacing("readBody", async (right, req) => {
      let text = "";
      req.on("data", (piece: Buffer) => (text += String(piece)));
      const body = await right.readBody(req);
      return body && Buffer.from(text);
    }),
  },
  header_case: {
    "looks headers up in their documented letter case": overriding({
      header({ rawHeaders }, name) {
        const exact = name.replace(/(?<![a-z])[a-z]/g, (letter) => letter.toUpperCase());
        const at = rawHeaders.indexOf(exact);
        return at === -1 ? undefined : rawHeaders[at + 1];
      },
    }),
  },
  broken_upload: {
    "handles an upload that broke off": doingFirst("serve", (right, req) =>
      req.on("close", () => {
        const id = right.header(req, "x-webhook-id") ?? "";
        if (!req.complete) void right.ledger.record({ id });
      }),
    ),
    "breaks when a Content-Length is larger than its memory": overriding((right) => {
      let isBroken = false;
      return {
        async serve(req, res) {
          isBroken ||= Number(req.headers["content-length"]) > 10 ** 12;
          if (isBroken) res.destroy();
          else await right.serve(req, res);
        },
      };
    }),
    "ends its process when an upload breaks off": overriding((right) => {
      let hasEnded = false;
      return {
        async serve(req, res) {
          req.on("close", () => (hasEnded ||= !req.complete));
          if (hasEnded) res.destroy();
          else await right.serve(req, res);
        },
      };
    }),
  },
  keep_alive: {
    "takes the rest of a refused body for a request": overriding((right) => {
      const confused = new WeakSet();
      return {
        async serve(req, res) {
          const { socket } = req;
          res.on("finish", () => {
            if (res.statusCode !== 200) confused.add(socket);
          });
          if (confused.has(socket)) res.writeHead(400).end();
          else await right.serve(req, res);
        },
      };
    }),
  },
  expect_continue: {
    "never sends 100 Continue": replacing("createServer", (right) =>
      right.createServer().on("checkContinue", (req, res) => {
        void right.serve(req, res);
      }),
    ),
    "answers 417 to Expect: 100-continue": replacing("createServer", (right) =>
      right.createServer().on("checkContinue", (_req, res: ServerResponse) => {
        res.writeHead(417, { connection: "close" }).end();
      }),
    ),
  },
  unlimited_body: {
    "reads a body without a limit": replacing("readBody", (right, req) =>
      right.readBody(req, Number.POSITIVE_INFINITY),
    ),
    "limits a body by its Content-Length alone": replacing("readBody", (right, req) => {
      const isChunked = req.headers["content-length"] === undefined;
      return isChunked ? right.readBody(req, Number.POSITIVE_INFINITY) : right.readBody(req);
    }),
    "limits a compressed body before it inflates it": replacing("readBody", async (right, req) => {
      const body = await right.readBody(req);
      const isPacked = req.headers["content-encoding"] === "gzip";
      return isPacked && body !== undefined ? gunzipSync(body) : body;
    }),
  },
  invalid_header_bytes: {
    "signs the id in lower case": replacing("mac", (right, secret, request) =>
      right.mac(secret, { ...request, id: request.id.toLowerCase() }),
    ),
    "drops control characters from headers": parsingLoosely((value) =>
      value.replace(/[^!-~]/g, ""),
    ),
    "drops what is beyond ASCII from headers": replacing("header", (right, req, name) =>
      right.header(req, name)?.replace(/[^ -~]/g, ""),
    ),
    "remembers the id in X_Webhook_Id": keyed(({ id, req }) =>
      String(req.headers["x_webhook_id"] ?? id),
    ),
    "verifies the first of two ids and remembers the last": overriding((right) => ({
      header: (req, name) => right.header(req, name)?.split(", ")[0],
      keyOf: ({ req }) => String(right.header(req, "x-webhook-id")).split(", ").at(-1) ?? "",
    })),
  },
  stalled_upload: {
    "reads one body after another": hanging(
      overriding((right) => {
        let last: Promise<unknown> = Promise.resolve();
        return {
          readBody(req) {
            const own = last.then(() => right.readBody(req));
            last = own.catch(() => undefined);
            return own;
          },
        };
      }),
    ),
    "answers 400 to an upload of a second": answeringSlow(400),
    "drops an upload that takes a second": answeringSlow(200),
    "answers 404 while an upload is under way": overriding((right) => {
      let reading = 0;
      return {
        async readBody(req) {
          reading += 1;
          return right.readBody(req).finally(() => (reading -= 1));
        },
        process: async (request) => (reading > 0 ? [404, "busy"] : right.process(request)),
      };
    }),
  },
  paused_upload: {
    "answers 408 to an upload of a second": answeringSlow(408),
    "closes a connection silent for a second": doingFirst("serve", (_right, req) =>
      req.socket.setTimeout(1_000, () => req.socket.destroy()),
    ),
  },
};

convicts(
  "JavaScript",
  inJavaScript,
  freshnessFlaws,
  statusFlaws,
  answerFlaws,
  frontFlaws,
  transportFlaws,
);

/** The age of a request in seconds, negative for the future. */
function ageOf({ timestamp }: Request): number {
  return Date.now() / 1_000 - Number(timestamp);
}

/** Judges the age of a delivery. */
function withAge(isFresh: (seconds: number) => boolean) {
  return overriding({ isFresh: (request) => isFresh(ageOf(request)) });
}

/** Looks at the age of some deliveries alone. */
function freshIf(isTrusted: (request: Request) => boolean) {
  return replacing("isFresh", (right, request) => isTrusted(request) || right.isFresh(request));
}

/** Takes another method for POST. */
function taking(method: string) {
  return doingFirst("receive", (_right, req) => {
    if (req.method === method) req.method = "POST";
  });
}

/** Answers this to an upload that takes a second. */
function answeringSlow(status: number) {
  return overriding((right) => ({
    // At its end: an answer on a connection that closes while the rest is sent may be lost on a busy machine.
    async readBody(req) {
      const startedAt = performance.now();
      const body = await right.readBody(req);
      return performance.now() - startedAt < 1_000 ? body : undefined;
    },
    refuse: (reason, request) =>
      reason === "too large" ? [status, "slow"] : right.refuse(reason, request),
  }));
}

type IsStopped = Parameters<ReturnType<typeof answeringFirst>>[0];

/** Something in front answers some requests. */
function behind(answer: Answer, isStopped: IsStopped): Judged {
  return [answeringFirst(answer)(isStopped), { handled: undefined }];
}

/** The same before a receiver that names its outcomes. */
function namedBehind(isStopped: IsStopped) {
  return (answer: Answer): Judged => {
    const handled: Answer = [200, '{"outcome":"handled"}', { "content-type": "application/json" }];
    const make = overriding((right) => ({
      receive: (req, body) => (isStopped(req, body) ? answer : right.receive(req, body)),
      done: () => handled,
      duplicate: () => handled,
    }));
    return [make, { handled: undefined }];
  };
}
