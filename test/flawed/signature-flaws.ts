import { createHash, randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { TEST_SECRET } from "../support/deliveries.js";
import { Meeting, type Flaw } from "./flaw.js";
import {
  hmac,
  isFields,
  RightReceiver,
  type Answer,
  type Refusal,
  type Request,
} from "./right-receiver.js";

/** The secret of a receiver that also accepts the public test secret. */
const OWN_SECRET = "whsec_own_fedcba9876543210";
/** The secrets of a receiver that has one for each type. */
const SECRETS: Readonly<Record<string, string | undefined>> = {
  new_alarm: TEST_SECRET,
  delete_my_data_event: TEST_SECRET,
};

/** Each lets a forged or changed delivery in. */
export const signatureFlaws: readonly Flaw[] = [
  ["also accepts an empty secret", "guessable_secret", alsoAccepting("")],
  ['also accepts the secret "undefined"', "guessable_secret", alsoAccepting("undefined")],
  ['also accepts the secret "null"', "guessable_secret", alsoAccepting("null")],
  ['also accepts the secret "None"', "guessable_secret", alsoAccepting("None")],
  ['also accepts the secret "changeme"', "guessable_secret", alsoAccepting("changeme")],
  [
    "also accepts the public test secret",
    "guessable_secret",
    class extends RightReceiver {
      override secrets() {
        return [OWN_SECRET, TEST_SECRET];
      }
    },
    { secret: OWN_SECRET },
  ],
  [
    "has no secret for events and takes an empty one",
    "guessable_secret",
    class extends RightReceiver {
      override secrets({ type }: Request) {
        return type === "new_alarm" ? [TEST_SECRET] : [TEST_SECRET, ""];
      }
    },
  ],
  [
    "takes an empty secret for a type that it has none for",
    "guessable_secret",
    byType(({ type }) => SECRETS[type] ?? ""),
  ],
  [
    "signs with the text of undefined for a type that it has no secret for",
    "guessable_secret",
    byType(({ type }) => String(SECRETS[type])),
  ],
  [
    "finds a secret for the type __proto__ in an object",
    "guessable_secret",
    byType(({ type }) => (type in SECRETS ? String(SECRETS[type]) : undefined)),
  ],
  [
    "finds a secret for the type constructor in an object",
    "guessable_secret",
    byType(({ type }) => (type === "constructor" ? String(SECRETS[type]) : SECRETS[type])),
  ],
  [
    "takes the id for a secret that it does not have",
    "guessable_secret",
    class extends RightReceiver {
      override secrets({ id }: Request) {
        return [TEST_SECRET, id];
      }
    },
  ],
  ['also accepts the secret "v1"', "guessable_secret", alsoAccepting("v1")],
  ["also accepts a blank as secret", "guessable_secret", alsoAccepting(" ")],
  ["also accepts a newline as secret", "guessable_secret", alsoAccepting("\n")],
  ['also accepts the secret "test"', "guessable_secret", alsoAccepting("test")],
  [
    "also accepts the secret of its documentation",
    "guessable_secret",
    alsoAccepting("your-webhook-secret"),
  ],
  ["also accepts Go's text of no secret", "guessable_secret", alsoAccepting("<nil>")],
  ["does not await the secret", "guessable_secret", alsoAccepting("[object Promise]")],
  ["answers the expected signature in hex", "leaked_signature", leaking("hex")],
  ["answers the expected signature in base64", "leaked_signature", leaking("base64")],
  [
    "answers the expected signature in JSON from a logger that escapes slashes",
    "leaked_signature",
    class extends RightReceiver {
      override refuse(reason: Refusal, request?: Request): Answer {
        const mac = request && this.mac(TEST_SECRET, request).toString("base64");
        return [409, JSON.stringify({ reason, mac }).replaceAll("/", "\\/")];
      }
    },
  ],
  [
    "answers the expected signature in a header",
    "leaked_signature",
    class extends RightReceiver {
      override refuse(reason: Refusal, request?: Request): Answer {
        if (request === undefined) return super.refuse(reason);
        const mac = this.mac(TEST_SECRET, request).toString("hex");
        return [409, reason, { "x-expected": mac.toUpperCase() }];
      }
    },
  ],
  [
    "does not verify",
    "wrong_secret",
    class extends RightReceiver {
      override isSigned() {
        return true;
      }
    },
  ],
  ["does not verify events", "wrong_secret", skipping(({ type }) => type !== "new_alarm")],
  [
    "does not verify what is sent as text/plain",
    "wrong_secret",
    skipping(({ req }) => req.headers["content-type"] === "text/plain"),
  ],
  [
    "does not verify bodies without Content-Length",
    "wrong_secret",
    skipping(({ req }) => req.headers["content-length"] === undefined),
  ],
  [
    "does not verify requests of this machine",
    "wrong_secret",
    skipping(({ req }) => /127\.0\.0\.1|::1/.test(String(req.socket.remoteAddress))),
  ],
  [
    "does not verify what a proxy forwards from inside",
    "wrong_secret",
    skipping(({ req }) => req.headers["x-forwarded-for"] === "127.0.0.1"),
  ],
  [
    "does not verify what X-Real-IP says is from inside",
    "wrong_secret",
    skipping(({ req }) => req.headers["x-real-ip"] === "127.0.0.1"),
  ],
  [
    "does not verify what Forwarded says is from inside",
    "wrong_secret",
    skipping(({ req }) => String(req.headers.forwarded).includes("for=127.0.0.1")),
  ],
  [
    "does not verify what X-Forwarded-Host says is for localhost",
    "wrong_secret",
    skipping(({ req }) => req.headers["x-forwarded-host"] === "localhost"),
  ],
  ["does not verify HTTP/1.0", "forged_http_1_0", skipping(({ req }) => req.httpVersion === "1.0")],
  [
    "does not verify requests without a host",
    "forged_http_1_0",
    skipping(({ req }) => req.headers.host === undefined),
  ],
  [
    "verifies events that it has serialized again",
    "exact_bytes",
    verifying((body, { type }) =>
      type === "new_alarm" ? body : JSON.stringify(JSON.parse(String(body))),
    ),
  ],
  [
    "changes line ends before it verifies",
    "exact_bytes",
    verifying((body) => String(body).replaceAll("\r\n", "\n")),
  ],
  [
    "composes characters before it verifies",
    "non_ascii",
    verifying((body) => String(body).normalize("NFC")),
  ],
  [
    "trusts a connection after one good signature",
    "wrong_secret",
    class extends RightReceiver {
      readonly trusted = new WeakSet<Socket>();
      override isSigned(request: Request) {
        const { socket } = request.req;
        if (super.isSigned(request)) this.trusted.add(socket);
        return this.trusted.has(socket);
      }
    },
  ],
  [
    "does not verify a type that it does not know",
    "wrong_secret",
    class extends RightReceiver {
      isKnown(type: string) {
        return type === "new_alarm" || type === "delete_my_data_event";
      }
      override isSigned(request: Request) {
        return !this.isKnown(request.type) || super.isSigned(request);
      }
      override typeOf(parsed: unknown, request: Request) {
        return this.isKnown(request.type) ? super.typeOf(parsed, request) : request.type;
      }
    },
  ],
  [
    "verifies only if there is a signature",
    "unsigned",
    class extends RightReceiver {
      override readHeaders(req: IncomingMessage, body: Buffer) {
        const { headers } = req;
        if ("x-webhook-signature" in headers) return super.readHeaders(req, body);
        headers["x-webhook-signature"] = `v1=${"0".repeat(64)}`;
        const request = super.readHeaders(req, body);
        return request && { ...request, signature: "" };
      }
      override isSigned(request: Request) {
        return request.signature === "" || super.isSigned(request);
      }
    },
  ],
  [
    "accepts an empty signature",
    "unsigned",
    comparing((mac, given) => given === "" || mac === given),
  ],
  [
    "accepts the beginning of a signature",
    "partial_signature",
    comparing((mac, given) => mac.startsWith(given)),
  ],
  [
    "accepts a part of a signature",
    "partial_signature",
    comparing((mac, given) => mac.includes(given)),
  ],
  [
    "compares a quarter of the signature",
    "partial_signature",
    comparing((mac, given) => mac.slice(0, 16) === given.slice(0, 16)),
  ],
  [
    "compares the second half of the signature",
    "partial_signature",
    comparing((mac, given) => mac.slice(32) === given.slice(32)),
  ],
  [
    "skips the first digit",
    "partial_signature",
    comparing((mac, given) => mac.slice(1) === given.slice(1)),
  ],
  [
    "skips the last digit",
    "partial_signature",
    comparing((mac, given) => mac.slice(0, -1) === given.slice(0, -1)),
  ],
  [
    "skips the tenth byte",
    "partial_signature",
    comparing((mac, given) => without(mac, 18) === without(given, 18)),
  ],
  [
    "skips one digit in the middle",
    "partial_signature",
    comparing((mac, given) => without(mac, 45, 1) === without(given, 45, 1)),
  ],
  [
    "compares the sums of the bytes",
    "partial_signature",
    comparingBytes((bytes) => bytes.reduce((sum, byte) => sum + byte, 0)),
  ],
  [
    "adds up the differences of the bytes",
    "partial_signature",
    class extends RightReceiver {
      override matches(mac: Buffer, signature: string) {
        const given = Buffer.from(signature.slice("v1=".length), "hex");
        return mac.reduce((sum, byte, at) => sum + byte - (given[at] ?? 0), 0) === 0;
      }
    },
  ],
  [
    "compares the sorted bytes",
    "partial_signature",
    comparingBytes((bytes) => Buffer.from(bytes).sort().toString("hex")),
  ],
  [
    "compares the sorted digits",
    "partial_signature",
    comparing(
      (mac, given) => Array.from(mac).sort().join("") === Array.from(given).sort().join(""),
    ),
  ],
  [
    "also compares the bytes in the other order",
    "partial_signature",
    comparing((mac, given) =>
      [mac, Buffer.from(mac, "hex").reverse().toString("hex")].includes(given),
    ),
  ],
  [
    "compares base64 without letter case",
    "partial_signature",
    comparingBytes((bytes) => bytes.toString("base64").toLowerCase()),
  ],
  [
    "compares as many bytes as could be decoded",
    "partial_signature",
    comparing((mac, given) => {
      const bytes = Buffer.from(given, "hex");
      return bytes.equals(Buffer.from(mac, "hex").subarray(0, bytes.length));
    }),
  ],
  [
    "compares the length alone",
    "wrong_secret",
    comparing((mac, given) => mac.length === given.length),
  ],
  ["also accepts a signature of the body alone", "other_signature_schemes", alsoSigned(() => "")],
  [
    "also accepts a signature in GitHub's format",
    "other_signature_schemes",
    class extends RightReceiver {
      override grammar() {
        return { ...super.grammar(), signature: /^(?:v1|sha256)=[0-9a-f]{64}$/ };
      }
      override isSigned(request: Request) {
        const mac = hmac(TEST_SECRET, request.body).toString("hex");
        return request.signature === `sha256=${mac}` || super.isSigned(request);
      }
    },
  ],
  [
    "also accepts a signature without the id",
    "other_signature_schemes",
    alsoSigned(({ timestamp }) => `v1:${timestamp}:`),
  ],
  [
    "also accepts a signature of timestamp and body",
    "other_signature_schemes",
    alsoSigned(({ timestamp }) => `${timestamp}.`),
  ],
  [
    "also accepts a signature without the timestamp",
    "other_signature_schemes",
    alsoSigned(({ id }) => `v1:${id}:`),
  ],
  [
    "also accepts the scheme of Standard Webhooks",
    "other_signature_schemes",
    alsoSigned(({ id, timestamp }) => `${id}.${timestamp}.`),
  ],
  [
    "also accepts a signature of the headers alone",
    "other_signature_schemes",
    class extends RightReceiver {
      override isSigned(request: Request) {
        return super.isSigned(request) || super.isSigned({ ...request, body: Buffer.alloc(0) });
      }
    },
  ],
  [
    "also accepts a hash without a secret",
    "other_signature_schemes",
    class extends RightReceiver {
      override isSigned(request: Request) {
        const { id, timestamp, body, signature } = request;
        const hash = createHash("sha256").update(`v1:${timestamp}:${id}:`).update(body);
        return signature === `v1=${hash.digest("hex")}` || super.isSigned(request);
      }
    },
  ],
  [
    "remembers good signatures and no longer looks at what they cover",
    "other_id",
    class extends RightReceiver {
      readonly good = new Set<string>();
      override isSigned(request: Request) {
        if (super.isSigned(request)) this.good.add(request.signature);
        return this.good.has(request.signature);
      }
    },
  ],
  [
    "keeps in one variable whether the request is signed",
    "concurrent_forgeries",
    class extends RightReceiver {
      isLastSigned = false;
      readonly meeting = new Meeting();
      override async process(request: Request) {
        this.isLastSigned = super.isSigned(request);
        await this.meeting.wait();
        return super.process(request);
      }
      override isSigned() {
        return this.isLastSigned;
      }
    },
  ],
  [
    "verifies JSON that it has serialized again",
    "exact_bytes",
    verifying((body) => JSON.stringify(JSON.parse(String(body)))),
  ],
  ["trims the body before it verifies", "other_bytes", verifying((body) => String(body).trim())],
  ["decodes the body before it verifies", "other_bytes_same_text", verifying(String)],
  [
    "drops invalid bytes before it verifies",
    "other_bytes_same_text",
    verifying((body) => String(body).replaceAll("\uFFFD", "")),
  ],
  [
    "drops a byte order mark before it verifies",
    "other_bytes_same_text",
    verifying((body) => (body[0] === 0xef ? body.subarray(3) : body)),
  ],
  [
    "drops NUL bytes before it verifies",
    "other_bytes_same_text",
    verifying((body) => Buffer.from(body.filter((byte) => byte !== 0))),
  ],
  [
    "decodes UTF-16 before it verifies",
    "other_bytes_same_text",
    verifying((body, { req }) =>
      req.headers["content-type"]?.includes("utf-16") === true ? body.toString("utf16le") : body,
    ),
  ],
  [
    "verifies the timestamp that it has parsed",
    "timestamp_text",
    class extends RightReceiver {
      override grammar() {
        return { ...super.grammar(), timestamp: /./ };
      }
      override mac(secret: string, request: Request) {
        return super.mac(secret, {
          ...request,
          timestamp: String(Number.parseInt(request.timestamp)),
        });
      }
      override isFresh(request: Request) {
        return super.isFresh({ ...request, timestamp: String(Number.parseInt(request.timestamp)) });
      }
    },
  ],
  [
    "takes any id and handles bodies that it cannot read",
    "delimiter_shift",
    class extends RightReceiver {
      override grammar() {
        return { ...super.grammar(), id: /./ };
      }
      override unreadable(_error: unknown, request: Request) {
        return this.handleOnce(request, {});
      }
    },
  ],
  [
    "believes X-Webhook-Type",
    "type_flip",
    class extends RightReceiver {
      override typeOf(parsed: unknown, { type }: Request) {
        return isFields(parsed) ? type : undefined;
      }
    },
  ],
  [
    "acknowledges and drops an alarm whose X-Webhook-Type it does not know",
    "type_flip",
    class extends RightReceiver {
      override refuse(reason: Refusal, request?: Request): Answer {
        const isUnknown = reason === "another type" && SECRETS[request?.type ?? ""] === undefined;
        return isUnknown ? [200, "ignored"] : super.refuse(reason, request);
      }
    },
  ],
  [
    "takes the content for the type when it does not know X-Webhook-Type",
    "type_flip",
    class extends RightReceiver {
      override typeOf(parsed: unknown, request: Request) {
        const type = super.typeOf(parsed, request);
        return SECRETS[request.type] === undefined && type !== undefined ? request.type : type;
      }
    },
  ],
  [
    "makes up an id where there is none, and skips the signature then",
    "missing_headers",
    class extends RightReceiver {
      override readHeaders(req: IncomingMessage, body: Buffer) {
        const isMissing = req.headers["x-webhook-id"] === undefined;
        if (isMissing) req.headers["x-webhook-id"] = `made-up-${randomUUID()}`;
        return super.readHeaders(req, body);
      }
      override isSigned(request: Request) {
        return request.id.startsWith("made-up-") || super.isSigned(request);
      }
    },
  ],
  [
    "takes the first of two headers",
    "repeated_headers",
    class extends RightReceiver {
      override header({ rawHeaders }: IncomingMessage, name: string) {
        const at = rawHeaders.findIndex((one, i) => i % 2 === 0 && one.toLowerCase() === name);
        return at === -1 ? undefined : rawHeaders[at + 1];
      }
    },
  ],
  [
    "takes the last of two headers",
    "repeated_headers",
    class extends RightReceiver {
      override header({ rawHeaders }: IncomingMessage, name: string) {
        const at = rawHeaders.findLastIndex((one, i) => i % 2 === 0 && one.toLowerCase() === name);
        return at === -1 ? undefined : rawHeaders[at + 1];
      }
    },
  ],
];

function alsoAccepting(secret: string) {
  return class extends RightReceiver {
    override secrets() {
      return [TEST_SECRET, secret];
    }
  };
}

/** Looks the secret up by X-Webhook-Type, and goes by the content for the rest. */
function byType(secretOf: (request: Request) => string | undefined) {
  return class extends RightReceiver {
    override secrets(request: Request) {
      const secret = secretOf(request);
      return secret === undefined ? [] : [secret];
    }
    override typeOf(parsed: unknown, request: Request) {
      const type = super.typeOf(parsed, request);
      const isKnown = Object.hasOwn(SECRETS, request.type);
      return isKnown || type === undefined ? type : request.type;
    }
  };
}

function leaking(encoding: "hex" | "base64") {
  return class extends RightReceiver {
    override refuse(reason: Refusal, request?: Request): Answer {
      if (request === undefined) return super.refuse(reason);
      const expected = this.mac(TEST_SECRET, request).toString(encoding);
      return [409, `expected v1=${expected}`];
    }
  };
}

function skipping(isTrusted: (request: Request) => boolean) {
  return class extends RightReceiver {
    override isSigned(request: Request) {
      return isTrusted(request) || super.isSigned(request);
    }
  };
}

/** Compares the digits of two signatures, of which the given one may be any text. */
function comparing(isEqual: (mac: string, given: string) => boolean) {
  return class extends RightReceiver {
    override grammar() {
      return { ...super.grammar(), signature: /^(?:v1=.*)?$/ };
    }
    override matches(mac: Buffer, signature: string) {
      return isEqual(mac.toString("hex"), signature.slice("v1=".length));
    }
  };
}

/** Compares what is computed from the bytes of two signatures. */
function comparingBytes(digest: (bytes: Buffer) => string | number) {
  return class extends RightReceiver {
    override matches(mac: Buffer, signature: string) {
      return digest(mac) === digest(Buffer.from(signature.slice("v1=".length), "hex"));
    }
  };
}

/** A text without the digits at a position. */
function without(text: string, at: number, digits = 2): string {
  return text.slice(0, at) + text.slice(at + digits);
}

/** Also accepts a signature of another prefix and the body. */
function alsoSigned(prefixOf: (request: Request) => string) {
  return class extends RightReceiver {
    override isSigned(request: Request) {
      const mac = hmac(TEST_SECRET, prefixOf(request), request.body);
      return this.matches(mac, request.signature) || super.isSigned(request);
    }
  };
}

/** Verifies something other than the bytes that arrived. */
function verifying(change: (body: Buffer, request: Request) => string | Buffer) {
  return class extends RightReceiver {
    override isSigned(request: Request) {
      try {
        return super.isSigned({ ...request, body: Buffer.from(change(request.body, request)) });
      } catch {
        return false;
      }
    }
    override parse(body: Buffer, request: Request): unknown {
      return JSON.parse(String(change(body, request)).replace("\uFEFF", ""));
    }
  };
}
