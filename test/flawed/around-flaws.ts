import type { IncomingMessage } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { TEST_SECRET } from "../support/deliveries.js";
import { doingFirst, hanging, keyed, Meeting, overriding, type Flaws } from "./flaw.js";
import { hmac, type Request } from "./right-receiver.js";

/** Each believes something beside the signature that anyone can send. */
const trustFlaws: Flaws = {
  wrong_secret: {
    "does not verify what has an Authorization header": trusting(({ authorization }) =>
      Boolean(authorization?.startsWith("Bearer ")),
    ),
    "does not verify what has an API key": trusting((headers) => "x-api-key" in headers),
    "does not verify a probe of Kubernetes": trusting(agentIs(/kube-probe/)),
    "does not verify a health check of a load balancer": trusting(
      agentIs(/HealthChecker|GoogleHC/),
    ),
    "does not verify what comes from curl": trusting(agentIs(/^curl\//)),
    "does not verify what calls itself the gateway": trusting(agentIs(/gateway/i)),
    "does not verify what X-Real-IP says is in a private network": trusting((headers) =>
      /^(?:10|192\.168|172\.1[6-9])\./.test(String(headers["x-real-ip"])),
    ),
    "does not verify what CF-Connecting-IP says is in a private network": trusting((headers) =>
      String(headers["cf-connecting-ip"]).startsWith("10."),
    ),
    "does not verify what True-Client-IP says is this machine": trusting(
      (headers) => headers["true-client-ip"] === "::1",
    ),
    "does not verify what has X-Test": trusting((headers) => "x-test" in headers),
    "does not verify what has X-Debug: true": trusting((headers) => headers["x-debug"] === "true"),
    "does not verify what has X-Internal-Request: 1": trusting(
      (headers) => headers["x-internal-request"] === "1",
    ),
    "does not verify what is for X-Environment: development": trusting(
      (headers) => headers["x-environment"] === "development",
    ),
    "does not verify what a proxy says is verified": trusting(
      (headers) => headers["x-signature-verified"] === "true",
    ),
    "does not verify what has a client certificate by its header": trusting(
      (headers) => headers["x-ssl-client-verify"] === "SUCCESS",
    ),
    "does not verify a second attempt": trusting(
      (headers) => Number(headers["x-webhook-attempt"]) > 1,
    ),
    "does not verify what is compressed": trusting(
      (headers) => headers["content-encoding"] === "gzip",
    ),
    "does not verify what a page on this machine sends": trusting((headers) =>
      String(headers.origin).startsWith("http://localhost"),
    ),
    "does not verify when the algorithm is none": trusting(
      (headers) => headers["x-signature-algorithm"] === "none",
    ),
    "does not verify a ping": trusting((headers) => headers["x-webhook-event"] === "ping"),
  },
  unsigned: {
    "lets unsigned requests in that have X-Test": unsignedIf((headers) => "x-test" in headers),
    "lets unsigned requests in that have a token": unsignedIf(
      (headers) => "authorization" in headers,
    ),
    "lets unsigned requests in from this machine by X-Forwarded-For": unsignedIf(
      (headers) => headers["x-forwarded-for"] === "127.0.0.1",
    ),
    "lets unsigned events in that have a cookie": unsignedIf((headers) => "cookie" in headers),
  },
  forged_http_1_0: {
    "does not verify what is for localhost": trusting(
      ({ host }) => host === "localhost" || String(host).startsWith("localhost:"),
    ),
    "does not verify what has ?debug=1": overriding((right) => ({
      isSigned: (request) => /[?&]debug=1/.test(String(request.req.url)) || right.isSigned(request),
    })),
    "does not verify what has ?skip_verification=true": overriding((right) => ({
      isSigned: (request) =>
        String(request.req.url).includes("skip_verification=true") || right.isSigned(request),
    })),
  },
  partial_signature: {
    "accepts the signature none": acceptingSignature("none"),
    "accepts the signature v1=undefined": acceptingSignature("v1=undefined"),
    "accepts the signature test": acceptingSignature("test"),
  },
  stale: {
    "takes the Date header for the time of signing": overriding((right) => ({
      isFresh(request) {
        const { date } = request.req.headers;
        if (date === undefined) return right.isFresh(request);
        return Math.abs(Date.now() - Date.parse(date)) < 300_000;
      },
    })),
    "does not look at the age of a retry": freshIf((headers) => "x-webhook-attempt" in headers),
    "does not look at the age of a replay": freshIf((headers) => headers["x-replay"] === "1"),
    "does not look at the age in tests": freshIf((headers) => headers["x-env"] === "test"),
  },
  guessable_secret: Object.fromEntries(
    [
      "dev-secret",
      "your-secret-here",
      "~",
      "changeit",
      "supersecret",
      "TODO",
      "123456",
      "placeholder",
      "whsec_test",
      "webhook",
      "local",
      "my-secret",
    ].map((secret) => [
      `falls back to the secret ${secret}`,
      overriding({ secrets: () => [TEST_SECRET, secret] }),
    ]),
  ),
  forged_after_failure: {
    "remembers the signature of a failed delivery as good": remembersFailed(
      ({ signature }) => signature,
    ),
    "remembers the id of a failed delivery as verified": remembersFailed(({ id }) => id),
    "remembers good signatures by their timestamp and id": remembersFailed(
      ({ id, timestamp }) => `${timestamp}:${id}`,
    ),
  },
};

/** Each handles a retry again that differs as retries do, or mixes ids up. */
const retryFlaws: Flaws = {
  retry_with_new_signature: {
    "remembers id and address": keyed(
      ({ id, req }) => `${id} ${String(req.headers["x-forwarded-for"])}`,
    ),
    "remembers id and agent": keyed(({ id, req }) => `${id} ${String(req.headers["user-agent"])}`),
    "remembers id and X-Request-Id": keyed(
      ({ id, req }) => `${id} ${String(req.headers["x-request-id"])}`,
    ),
    "remembers id and attempt": keyed(
      ({ id, req }) => `${id} ${String(req.headers["x-webhook-attempt"])}`,
    ),
    "remembers id and content type": keyed(
      ({ id, req }) => `${id} ${String(req.headers["content-type"])}`,
    ),
    "remembers id and the order of headers": keyed(
      ({ id, req: { rawHeaders } }) => `${id} ${rawHeaders[0]}`,
    ),
    "remembers id and the spelling of its header": keyed(
      ({ id, req: { rawHeaders } }) =>
        `${id} ${rawHeaders.find((name) => /webhook-id/i.test(name))}`,
    ),
    "remembers id and port of the sender": keyed(({ id, req }) => `${id} ${req.socket.remotePort}`),
    "remembers id and length by its header": keyed(
      ({ id, req }) => `${id} ${String(req.headers["content-length"])}`,
    ),
  },
  duplicate_handled_once: {
    "remembers the last 12 characters of an id": keyed(({ id }) => id.slice(-12)),
    "remembers the last part of an id": keyed(({ id }) => id.split("-").at(-1) ?? ""),
    "remembers the first and the last part of an id": keyed(
      ({ id }) => id.slice(0, 8) + id.slice(-12),
    ),
    "remembers the first half of an id": keyed(({ id }) => id.slice(0, 18)),
    "remembers an id without its second part": keyed(({ id }) => id.replace(/-\w+/, "")),
  },
  retries_at_once_after_failure: {
    "looks for a failed row and runs it again without a lock": unlockedAfterFailure(() => true),
    "runs a failed event again without a lock": unlockedAfterFailure(
      ({ type }) => type !== "new_alarm",
    ),
  },
};

/** Each gives up under load, at slow uploads, or for what firewalls dislike. */
const loadFlaws: Flaws = {
  concurrent_deliveries: {
    "acknowledges and drops what is more than 32 at once": limiting(32, [200, "busy"]),
    "answers 400 to what is more than 40 at once": limiting(40, [400, "busy"]),
    "answers 404 to what is more than 20 at once": limiting(20, [404, "busy"]),
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
    "answers 400 to an upload that takes a second": overriding((right) => ({
      readBody: (req) =>
        Promise.race([right.readBody(req), wait(1_000, undefined, { ref: false })]),
      refuse: (reason, request) =>
        reason === "too large" ? [400, "slow"] : right.refuse(reason, request),
    })),
    "acknowledges and drops an upload that takes a second": overriding((right) => ({
      readBody: (req) =>
        Promise.race([right.readBody(req), wait(1_000, undefined, { ref: false })]),
      refuse: (reason, request) =>
        reason === "too large" ? [200, "slow"] : right.refuse(reason, request),
    })),
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
    "answers 408 to an upload that takes a second": overriding((right) => ({
      readBody: (req) =>
        Promise.race([right.readBody(req), wait(1_000, undefined, { ref: false })]),
      refuse: (reason, request) =>
        reason === "too large" ? [408, "slow"] : right.refuse(reason, request),
    })),
    "closes a connection that is silent for a second": doingFirst("serve", (_right, req) =>
      req.socket.setTimeout(1_000, () => req.socket.destroy()),
    ),
  },
  many_headers: {
    "answers 431 to 4 kB of headers": refusing(({ rawHeaders }) =>
      rawHeaders.join("").length > 4_096 ? 431 : undefined,
    ),
    "answers 400 to more than forty headers": refusing(({ rawHeaders }) =>
      rawHeaders.length > 80 ? 400 : undefined,
    ),
  },
  unknown_headers: {
    "answers 403 to python-requests": refusing(({ headers }) =>
      String(headers["user-agent"]).includes("python") ? 403 : undefined,
    ),
    "answers 403 to what looks like a script": refusing(({ headers }) =>
      /curl|java|go-http/i.test(String(headers["user-agent"])) ? 403 : undefined,
    ),
    "acknowledges and drops what calls itself a browser": refusing(({ headers }) =>
      String(headers["user-agent"]).startsWith("Mozilla") ? 200 : undefined,
    ),
  },
  hostile_text: Object.fromEntries(
    ["<?", "<!", "`", "|", "%00", "https://user", "UNION SELECT", "javascript:", "cmd.exe"].map(
      (word) => [
        `answers 403 to ${word}`,
        overriding((right) => ({
          receive: (req, body) =>
            body.includes(word) ? [403, "blocked"] : right.receive(req, body),
        })),
      ],
    ),
  ),
};

/** Each drops something from the body before it verifies. */
const droppingFlaws: Flaws = {
  other_bytes_same_text: {
    "drops 0xFF before it verifies": dropping((body) =>
      Buffer.from(body.filter((byte) => byte !== 0xff)),
    ),
    "drops every byte that is no character before it verifies": dropping((body) =>
      Buffer.from(String(body).replaceAll("\uFFFD", "")),
    ),
    "drops NUL and other control characters before it verifies": dropping((body) =>
      Buffer.from(String(body).replace(/[\u0000-\u0008\u007f]/g, "")),
    ),
    "drops characters without width before it verifies": dropping((body) =>
      Buffer.from(String(body).replace(/[\u00ad\u200b\ufeff]/g, "")),
    ),
    "drops bytes 0x80 to 0xBF that stand alone before it verifies": dropping((body) =>
      Buffer.from(body.filter((byte, at) => (byte & 0xc0) !== 0x80 || (body[at - 1] ?? 0) >= 0x80)),
    ),
  },
};

export const aroundFlaws: readonly Flaws[] = [trustFlaws, retryFlaws, loadFlaws, droppingFlaws];

type Headers = IncomingMessage["headers"];

function trusting(isTrusted: (headers: Headers) => boolean) {
  return overriding((right) => ({
    isSigned: (request) => isTrusted(request.req.headers) || right.isSigned(request),
  }));
}

function agentIs(pattern: RegExp) {
  return (headers: Headers): boolean => pattern.test(String(headers["user-agent"]));
}

/** Looks at the signature only if there is one, for some requests. */
function unsignedIf(isTrusted: (headers: Headers) => boolean) {
  return overriding((right) => ({
    readHeaders(req, body) {
      const { headers } = req;
      const isTaken = headers["x-webhook-signature"] === undefined && isTrusted(headers);
      if (isTaken) headers["x-webhook-signature"] = `v1=${"0".repeat(64)}`;
      const request = right.readHeaders(req, body);
      return request && (isTaken ? { ...request, signature: "" } : request);
    },
    isSigned: (request) => request.signature === "" || right.isSigned(request),
  }));
}

function acceptingSignature(word: string) {
  return overriding((right) => ({
    grammar: () => ({ ...right.grammar(), signature: /^/ }),
    matches: (mac, signature) =>
      signature === word || (/^v1=[0-9a-f]{64}$/i.test(signature) && right.matches(mac, signature)),
  }));
}

function freshIf(isTrusted: (headers: Headers) => boolean) {
  return overriding((right) => ({
    isFresh: (request) => isTrusted(request.req.headers) || right.isFresh(request),
  }));
}

/** Remembers after a failure that a request was signed. */
function remembersFailed(nameOf: (request: Request) => string) {
  return overriding((right) => {
    const verified = new Set<string>();
    return {
      failed(request, key) {
        verified.add(nameOf(request));
        return right.failed(request, key);
      },
      isSigned: (request) => verified.has(nameOf(request)) || right.isSigned(request),
    };
  });
}

/** Two retries of a failed delivery can pass between the look-up and the write. */
function unlockedAfterFailure(isUnlocked: (request: Request) => boolean) {
  return overriding((right) => {
    const failed = new Set<string>();
    const meeting = new Meeting();
    return {
      failed(request, key) {
        failed.add(request.id);
        return right.failed(request, key);
      },
      async handleOnce(request, record) {
        const { id } = request;
        if (!failed.has(id) || right.handled.has(id) || !isUnlocked(request))
          return right.handleOnce(request, record);
        await meeting.wait();
        return right.run(request, id, record);
      },
    };
  });
}

/** Handles so many deliveries at a time, and answers this to the others. Keeps each while others arrive. */
function limiting(most: number, answer: readonly [status: number, text: string]) {
  return overriding((right) => {
    let running = 0;
    let arrivedAt = 0;
    return {
      async handleOnce(request, record) {
        arrivedAt = performance.now();
        if (running >= most) return answer;
        running += 1;
        await wait(30);
        // On a busy machine the next one takes a while.
        while (running > 2 && performance.now() - arrivedAt < 500) await wait(50);
        return right.handleOnce(request, record).finally(() => (running -= 1));
      },
    };
  });
}

function refusing(statusOf: (req: IncomingMessage) => number | undefined) {
  return overriding((right) => ({
    receive(req, body) {
      const status = statusOf(req);
      return status === undefined ? right.receive(req, body) : [status, "refused"];
    },
  }));
}

/** Verifies other bytes than it parses. */
function dropping(change: (body: Buffer) => Buffer) {
  return overriding({
    mac: (secret, { id, timestamp, body }) => hmac(secret, `v1:${timestamp}:${id}:`, change(body)),
    parse: (body) => JSON.parse(String(change(body)).replace("\uFEFF", "")) as unknown,
  });
}
