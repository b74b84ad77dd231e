import { createHash, randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { TEST_SECRET } from "../support/deliveries.js";
import { convicts, inJavaScript } from "./convicts.js";
import {
  each,
  has,
  Meeting,
  named,
  overriding,
  replacing,
  withGrammar,
  type Flaws,
} from "./flaw.js";
import { hmac, isFields, type Request } from "./right-receiver.js";

/** The secret of a receiver that also accepts the public test secret. */
const OWN_SECRET = "whsec_own_fedcba9876543210";
/** The secrets of a receiver that has one for each type. */
const SECRETS: Readonly<Record<string, string | undefined>> = {
  new_alarm: TEST_SECRET,
  delete_my_data_event: TEST_SECRET,
};
const SIGNATURE = "x-webhook-signature";

/** Each lets a forged or changed delivery in. */
const signatureFlaws: Flaws = {
  guessable_secret: {
    ...each("also accepts", alsoAccepting, {
      "an empty secret": "",
      'the secret "undefined"': "undefined",
      'the secret "null"': "null",
      'the secret "None"': "None",
      'the secret "changeme"': "changeme",
      'the secret "v1"': "v1",
      'the secret "test"': "test",
      "a blank as secret": " ",
      "a newline as secret": "\n",
      "the secret of its documentation": "your-webhook-secret",
      "Go's text of no secret": "<nil>",
    }),
    ...each(
      "falls back to the secret",
      alsoAccepting,
      named(
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
        "your_webhook_secret_here",
      ),
    ),
    "does not await the secret": alsoAccepting("[object Promise]"),
    "also accepts the public test secret": [
      overriding({ secrets: () => [OWN_SECRET, TEST_SECRET] }),
      { secret: OWN_SECRET },
    ],
    "has no secret for events and takes an empty one": overriding({
      secrets: ({ type }) => (type === "new_alarm" ? [TEST_SECRET] : [TEST_SECRET, ""]),
    }),
    "takes an empty secret for a type without one": byType(({ type }) => SECRETS[type] ?? ""),
    "signs with the text of undefined for a type without a secret": byType(({ type }) =>
      String(SECRETS[type]),
    ),
    ...each("finds a secret for the type", byType, {
      "__proto__ in an object": ({ type }) => (type in SECRETS ? String(SECRETS[type]) : undefined),
      "constructor in an object": ({ type }) =>
        type === "constructor" ? String(SECRETS[type]) : SECRETS[type],
    }),
    "takes the id for a missing secret": overriding({
      secrets: ({ id }) => [TEST_SECRET, id],
    }),
  },
  leaked_signature: {
    "answers the expected signature in hex": leaking((mac) => `expected v1=${mac.toString("hex")}`),
    "answers the expected signature in base64": leaking(
      (mac) => `expected v1=${mac.toString("base64")}`,
    ),
    "answers the expected signature in JSON with escaped slashes": leaking((mac) =>
      JSON.stringify({ mac: mac.toString("base64") }).replaceAll("/", "\\/"),
    ),
    "answers the expected signature in a header": leaking((mac) => ({
      "x-expected": mac.toString("hex").toUpperCase(),
    })),
  },
  wrong_secret: {
    ...each("does not verify", trusting, {
      events: (_, { type }) => type !== "new_alarm",
      "what is sent as text/plain": has("content-type", /^text\/plain$/),
      "bodies without Content-Length": ({ headers }) => headers["content-length"] === undefined,
      "what a proxy forwards from inside": has("x-forwarded-for", /^127\.0\.0\.1$/),
      "what X-Real-IP says is from inside": has("x-real-ip", /^127\.0\.0\.1$/),
      "what Forwarded says is from inside": has("forwarded", /for=127\.0\.0\.1/),
      "what X-Forwarded-Host says is for localhost": has("x-forwarded-host", /^localhost$/),
      "what has an Authorization header": has("authorization", /^Bearer /),
      "what has an API key": has("x-api-key"),
      "a probe of Kubernetes": has("user-agent", /kube-probe/),
      "a health check of a load balancer": has("user-agent", /HealthChecker|GoogleHC/),
      "what comes from curl": has("user-agent", /^curl\//),
      "what calls itself the gateway": has("user-agent", /gateway/i),
      "what X-Real-IP says is in a private network": has(
        "x-real-ip",
        /^(?:10|192\.168|172\.1[6-9])\./,
      ),
      "what CF-Connecting-IP says is in a private network": has("cf-connecting-ip", /^10\./),
      "what True-Client-IP says is this machine": has("true-client-ip", /^::1$/),
      "what has X-Test": has("x-test"),
      "what has X-Debug: true": has("x-debug", /^true$/),
      "what has X-Internal-Request: 1": has("x-internal-request", /^1$/),
      "what is for X-Environment: development": has("x-environment", /^development$/),
      "what a proxy says is verified": has("x-signature-verified", /^true$/),
      "what has a client certificate by its header": has("x-ssl-client-verify", /^SUCCESS$/),
      "a second attempt": has("x-webhook-attempt", /^(?:[2-9]|\d\d)/),
      "what is compressed": has("content-encoding", /^gzip$/),
      "what a page on this machine sends": has("origin", /^http:\/\/localhost/),
      "when the algorithm is none": has("x-signature-algorithm", /^none$/),
      "a ping": has("x-webhook-event", /^ping$/),
      "what has an internal token": has("x-internal-token"),
      "what has a key of functions": has("x-functions-key"),
      "what names an internal service": has("x-internal-service"),
      "what a load balancer says is from inside": has("x-original-forwarded-for", /^127\./),
      "what overrides its method": has("x-http-method-override", /^PUT$/),
      "what has no content type": ({ headers }) => headers["content-type"] === undefined,
      "what is sent as a form": has("content-type", /urlencoded/),
      "what says that it is a test": (_, { body }) => String(body).includes('"is_test":true'),
      "an id that begins with test": (_, { id }) => id.startsWith("test"),
    }),
    ...each("takes the secret from", takingSecret, {
      "X-Webhook-Secret": ({ req }) => req.headers["x-webhook-secret"],
      "X-Signature-Secret": ({ req }) => req.headers["x-signature-secret"],
      "the record": ({ body }) => /"secret":"(\w+)"/.exec(String(body))?.[1],
    }),
    "trusts an address after one good signature": overriding((right) => {
      const trusted = new Set<unknown>();
      return {
        isSigned(request) {
          const address = request.req.headers["x-forwarded-for"];
          if (address !== undefined && right.isSigned(request)) trusted.add(address);
          return trusted.has(address) || right.isSigned(request);
        },
      };
    }),
    "trusts a connection after one good signature": overriding((right) => {
      const trusted = new WeakSet<Socket>();
      return {
        isSigned(request) {
          const { socket } = request.req;
          if (right.isSigned(request)) trusted.add(socket);
          return trusted.has(socket);
        },
      };
    }),
    "does not verify an unknown type": overriding((right) => ({
      isSigned: (request) => !Object.hasOwn(SECRETS, request.type) || right.isSigned(request),
      typeOf: (parsed, request) =>
        Object.hasOwn(SECRETS, request.type) ? right.typeOf(parsed, request) : request.type,
    })),
  },
  forged_http_1_0: {
    ...each("handles without a look at its signature", routing, {
      "a GET with a body": ({ method, headers }) =>
        method === "GET" && Number(headers["content-length"]) > 0,
      ...Object.fromEntries(
        ["OPTIONS", "PUT", "PATCH", "DELETE"].map((name) => [
          name,
          ({ method }: IncomingMessage) => method === name,
        ]),
      ),
      "the path with a slash": ({ url }) => /\w\/$/.test(String(url)),
      "the path with two slashes": ({ url }) => String(url).startsWith("//"),
      "the path in upper case": ({ url }) => /[A-Z]/.test(String(url)),
    }),
    "refuses everything after a path that is no URL": overriding((right) => {
      let isBroken = false;
      return {
        receive(req, body) {
          isBroken ||= !URL.canParse(String(req.url), "http://localhost");
          return isBroken ? [503, "broken"] : right.receive(req, body);
        },
      };
    }),
    "remembers the id of ?id=": replacing("handleOnce", (right, request, record) => {
      const { searchParams } = new URL(String(request.req.url), "http://localhost");
      return right.handleOnce({ ...request, id: searchParams.get("id") ?? request.id }, record);
    }),
    "takes the secret from ?secret=": takingSecret(
      ({ req }) => /[?&]secret=(\w+)/.exec(String(req.url))?.[1],
    ),
    ...each("does not verify", trusting, {
      "what has ?access_token": ({ url }) => /[?&]access_token=/.test(String(url)),
      "HTTP/1.0": ({ httpVersion }) => httpVersion === "1.0",
      "requests without a host": ({ headers }) => headers.host === undefined,
      "what is for localhost": has("host", /^localhost(:|$)/),
      "what has ?debug=1": ({ url }) => /[?&]debug=1/.test(String(url)),
      "what has ?skip_verification=true": ({ url }) =>
        String(url).includes("skip_verification=true"),
    }),
  },
  exact_bytes: {
    "verifies events serialized again": verifying((body, { type }) =>
      type === "new_alarm" ? body : JSON.stringify(JSON.parse(String(body))),
    ),
    "verifies JSON serialized again": verifying((body) => JSON.stringify(JSON.parse(String(body)))),
  },
  non_ascii: {
    "composes characters before it verifies": verifying((body) => String(body).normalize("NFC")),
  },
  other_bytes: {
    "trims the body before it verifies": verifying((body) => String(body).trim()),
  },
  other_bytes_same_text: {
    "decodes the body before it verifies": verifying(String),
    ...each("verifies a body without", verifying, {
      "a byte order mark": (body) => (body[0] === 0xef ? body.subarray(3) : body),
      "NUL bytes": (body) => body.filter((byte) => byte !== 0),
      "0xFF": (body) => body.filter((byte) => byte !== 0xff),
      "characters without width": (body) => String(body).replace(/[\u00ad\u200b\ufeff]/g, ""),
      "bytes 0x80 to 0xBF that stand alone": (body) =>
        body.filter((byte, at) => (byte & 0xc0) !== 0x80 || (body[at - 1] ?? 0) >= 0x80),
    }),
    "decodes UTF-16 before it verifies": verifying((body, { req }) =>
      req.headers["content-type"]?.includes("utf-16") === true ? body.toString("utf16le") : body,
    ),
  },
  unsigned: {
    "verifies only if there is a signature": unsignedIf(() => true),
    ...each("lets unsigned", unsignedIf, {
      "requests in that have X-Test": has("x-test"),
      "requests in that have a token": has("authorization"),
      "requests in from this machine by X-Forwarded-For": has("x-forwarded-for", /^127\.0\.0\.1$/),
      "events in that have a cookie": has("cookie"),
    }),
    "accepts an empty signature": comparing((mac, given) => given === "" || mac === given),
  },
  partial_signature: {
    ...each("accepts the signature", acceptingSignature, named("none", "v1=undefined", "test")),
    "accepts the beginning of a signature": comparing((mac, given) => mac.startsWith(given)),
    ...each("compares", comparingPart, {
      "a quarter of the signature": (digits) => digits.slice(0, 16),
      "the sorted bytes": (_, bytes) => Buffer.from(bytes).sort().toString("hex"),
      "base64 without letter case": (_, bytes) => bytes.toString("base64").toLowerCase(),
    }),
    ...each("skips", comparingPart, {
      "the first digit": (digits) => digits.slice(1),
      "the last digit": (digits) => digits.slice(0, -1),
      "the tenth byte": (digits) => digits.slice(0, 18) + digits.slice(20),
      "one digit in the middle": (digits) => digits.slice(0, 45) + digits.slice(46),
    }),
    "also compares the bytes in the other order": comparing((mac, given) =>
      [mac, Buffer.from(mac, "hex").reverse().toString("hex")].includes(given),
    ),
    "compares as many bytes as could be decoded": comparing((mac, given) => {
      const bytes = Buffer.from(given, "hex");
      return bytes.equals(Buffer.from(mac, "hex").subarray(0, bytes.length));
    }),
  },
  other_signature_schemes: {
    ...each("also accepts", alsoSigned, {
      "a signature of the body alone": () => "",
      "a signature without the id": ({ timestamp }) => `v1:${timestamp}:`,
      "a signature of timestamp and body": ({ timestamp }) => `${timestamp}.`,
      "a signature without the timestamp": ({ id }) => `v1:${id}:`,
      "the scheme of Standard Webhooks": ({ id, timestamp }) => `${id}.${timestamp}.`,
    }),
    "also accepts a signature in GitHub's format": withGrammar(
      { signature: /^(?:v1|sha256)=[0-9a-f]{64}$/ },
      (right) => ({
        isSigned(request) {
          const mac = hmac(TEST_SECRET, request.body).toString("hex");
          return request.signature === `sha256=${mac}` || right.isSigned(request);
        },
      }),
    ),
    "also accepts a hash of the body in GitHub's format": withGrammar(
      { signature: /^(?:v1|sha256)=[0-9a-f]{64}$/ },
      (right) => ({
        isSigned(request) {
          const hash = createHash("sha256").update(request.body).digest("hex");
          return request.signature === `sha256=${hash}` || right.isSigned(request);
        },
      }),
    ),
    "also accepts a signature of the headers alone": replacing(
      "isSigned",
      (right, request) =>
        right.isSigned(request) || right.isSigned({ ...request, body: Buffer.alloc(0) }),
    ),
    "also accepts a hash without a secret": trusting((_, { id, timestamp, body, signature }) => {
      const hash = createHash("sha256").update(`v1:${timestamp}:${id}:`).update(body);
      return signature === `v1=${hash.digest("hex")}`;
    }),
  },
  forged_after_failure: {
    "remembers good signatures by timestamp and id": overriding((right) => {
      const verified = new Set<string>();
      return {
        failed(request, key) {
          verified.add(`${request.timestamp}:${request.id}`);
          return right.failed(request, key);
        },
        isSigned: (request) =>
          verified.has(`${request.timestamp}:${request.id}`) || right.isSigned(request),
      };
    }),
  },
  other_id: {
    "remembers good signatures, whatever they cover": overriding((right) => {
      const good = new Set<string>();
      return {
        isSigned(request) {
          if (right.isSigned(request)) good.add(request.signature);
          return good.has(request.signature);
        },
      };
    }),
  },
  concurrent_forgeries: {
    "keeps in a variable whether the request is signed": overriding((right) => {
      let isLastSigned = false;
      const meeting = new Meeting();
      return {
        async process(request) {
          isLastSigned = right.isSigned(request);
          await meeting.wait();
          return right.process(request);
        },
        isSigned: () => isLastSigned,
      };
    }),
  },
  timestamp_text: {
    "verifies the parsed timestamp": withGrammar({ timestamp: /./ }, (right) => {
      const parsed = (request: Request) => {
        return { ...request, timestamp: String(Number.parseInt(request.timestamp)) };
      };
      return {
        mac: (secret, request) => right.mac(secret, parsed(request)),
        isFresh: (request) => right.isFresh(parsed(request)),
      };
    }),
  },
  delimiter_shift: {
    "takes any id and handles unreadable bodies": withGrammar({ id: /./ }, (right) => ({
      unreadable: (_error, request) => right.handleOnce(request, {}),
    })),
  },
  type_flip: {
    "believes X-Webhook-Type": overriding({
      typeOf: (parsed, { type }) => (isFields(parsed) ? type : undefined),
    }),
    "drops an alarm of an unknown X-Webhook-Type": replacing("refuse", (right, reason, request) => {
      const isUnknown = reason === "another type" && SECRETS[request?.type ?? ""] === undefined;
      return isUnknown ? [200, "ignored"] : right.refuse(reason, request);
    }),
  },
  missing_headers: {
    "makes up a missing id, and skips the signature then": overriding((right) => ({
      readHeaders(req, body) {
        const isMissing = req.headers["x-webhook-id"] === undefined;
        if (isMissing) req.headers["x-webhook-id"] = `made-up-${randomUUID()}`;
        return right.readHeaders(req, body);
      },
      isSigned: (request) => request.id.startsWith("made-up-") || right.isSigned(request),
    })),
  },
  repeated_headers: {
    "takes the first of two headers": takingHeader((names, name) => names.indexOf(name)),
    "takes the last of two headers": takingHeader((names, name) => names.lastIndexOf(name)),
  },
};

convicts("JavaScript", inJavaScript, signatureFlaws);

/** Looks at the signature of some requests alone. */
function trusting(isTrusted: (req: IncomingMessage, request: Request) => boolean) {
  return replacing(
    "isSigned",
    (right, request) => isTrusted(request.req, request) || right.isSigned(request),
  );
}

/** Accepts another secret too. */
function alsoAccepting(secret: string) {
  return overriding({ secrets: () => [TEST_SECRET, secret] });
}

/** Looks the secret up by X-Webhook-Type, and goes by the content for the rest. */
function byType(secretOf: (request: Request) => string | undefined) {
  return overriding((right) => ({
    secrets(request) {
      const secret = secretOf(request);
      return secret === undefined ? [] : [secret];
    },
    typeOf(parsed, request) {
      const type = right.typeOf(parsed, request);
      const isKnown = Object.hasOwn(SECRETS, request.type);
      return isKnown || type === undefined ? type : request.type;
    },
  }));
}

/** Says in a body, or in headers, which signature it expected. */
function leaking(saying: (mac: Buffer) => string | Record<string, string>) {
  return replacing("refuse", (right, reason, request) => {
    if (request === undefined) return right.refuse(reason);
    const said = saying(right.mac(TEST_SECRET, request));
    return typeof said === "string" ? [409, said] : [409, reason, said];
  });
}

/** Looks at the signature only if there is one, for some requests. */
function unsignedIf(isTrusted: (req: IncomingMessage) => boolean) {
  return overriding((right) => ({
    readHeaders(req, body) {
      const { headers } = req;
      const isTaken = headers[SIGNATURE] === undefined && isTrusted(req);
      if (isTaken) headers[SIGNATURE] = `v1=${"0".repeat(64)}`;
      const request = right.readHeaders(req, body);
      return request && (isTaken ? { ...request, signature: "" } : request);
    },
    isSigned: (request) => request.signature === "" || right.isSigned(request),
  }));
}

function acceptingSignature(word: string) {
  return withGrammar({ signature: /^/ }, (right) => ({
    matches: (mac, signature) =>
      signature === word || (/^v1=[0-9a-f]{64}$/i.test(signature) && right.matches(mac, signature)),
  }));
}

/** Compares the digits of two signatures, of which the given one may be any text. */
function comparing(isEqual: (mac: string, given: string) => boolean) {
  return withGrammar({ signature: /^(?:v1=.*)?$/ }, () => ({
    matches: (mac, signature) => isEqual(mac.toString("hex"), signature.slice("v1=".length)),
  }));
}

/** Compares what is made of the digits or the bytes of two signatures. */
function comparingPart(partOf: (digits: string, bytes: Buffer) => string) {
  const of = (digits: string) => partOf(digits, Buffer.from(digits, "hex"));
  return comparing((mac, given) => of(mac) === of(given));
}

/** Also accepts a signature of another prefix and the body. */
function alsoSigned(prefixOf: (request: Request) => string) {
  return replacing("isSigned", (right, request) => {
    const mac = hmac(TEST_SECRET, prefixOf(request), request.body);
    return right.matches(mac, request.signature) || right.isSigned(request);
  });
}

type Change = (body: Buffer, request: Request) => string | Uint8Array;

/** Verifies something other than the bytes that arrived. */
function verifying(change: Change) {
  return overriding((right) => ({
    isSigned(request) {
      try {
        return right.isSigned({ ...request, body: Buffer.from(change(request.body, request)) });
      } catch {
        return false;
      }
    },
    parse: (body, request) =>
      JSON.parse(String(Buffer.from(change(body, request))).replace("\uFEFF", "")) as unknown,
  }));
}

/** Takes one of the headers of a name. */
function takingHeader(indexIn: (names: readonly string[], name: string) => number) {
  return overriding({
    header({ rawHeaders }, name) {
      const names = rawHeaders.filter((_, at) => at % 2 === 0).map((one) => one.toLowerCase());
      return rawHeaders[2 * indexIn(names, name) + 1];
    },
  });
}

/** Takes the secret from the request, if it has one. */
function takingSecret(secretIn: (request: Request) => string | readonly string[] | undefined) {
  return overriding({ secrets: (request) => [secretIn(request)?.toString() ?? TEST_SECRET] });
}

/** Handles some requests on a route of their own, which no guard watches. */
function routing(isOther: (req: IncomingMessage) => boolean) {
  return replacing("receive", (right, req, body) => {
    const request = isOther(req) ? right.readHeaders(req, body) : undefined;
    return request === undefined ? right.receive(req, body) : right.handleOnce(request, {});
  });
}
