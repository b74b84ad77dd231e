import { createHash, randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import { TEST_SECRET } from "../support/deliveries.js";
import { Meeting, overriding, type Flaws } from "./flaw.js";
import { hmac, isFields, type Request } from "./right-receiver.js";

/** The secret of a receiver that also accepts the public test secret. */
const OWN_SECRET = "whsec_own_fedcba9876543210";
/** The secrets of a receiver that has one for each type. */
const SECRETS: Readonly<Record<string, string | undefined>> = {
  new_alarm: TEST_SECRET,
  delete_my_data_event: TEST_SECRET,
};

/** Each lets a forged or changed delivery in. */
export const signatureFlaws: Flaws = {
  guessable_secret: {
    "also accepts an empty secret": alsoAccepting(""),
    'also accepts the secret "undefined"': alsoAccepting("undefined"),
    'also accepts the secret "null"': alsoAccepting("null"),
    'also accepts the secret "None"': alsoAccepting("None"),
    'also accepts the secret "changeme"': alsoAccepting("changeme"),
    'also accepts the secret "v1"': alsoAccepting("v1"),
    'also accepts the secret "test"': alsoAccepting("test"),
    "also accepts a blank as secret": alsoAccepting(" "),
    "also accepts a newline as secret": alsoAccepting("\n"),
    "also accepts the secret of its documentation": alsoAccepting("your-webhook-secret"),
    "also accepts Go's text of no secret": alsoAccepting("<nil>"),
    "does not await the secret": alsoAccepting("[object Promise]"),
    "also accepts the public test secret": [
      overriding({ secrets: () => [OWN_SECRET, TEST_SECRET] }),
      { secret: OWN_SECRET },
    ],
    "has no secret for events and takes an empty one": overriding({
      secrets: ({ type }) => (type === "new_alarm" ? [TEST_SECRET] : [TEST_SECRET, ""]),
    }),
    "takes an empty secret for a type that it has none for": byType(
      ({ type }) => SECRETS[type] ?? "",
    ),
    "signs with the text of undefined for a type that it has no secret for": byType(({ type }) =>
      String(SECRETS[type]),
    ),
    "finds a secret for the type __proto__ in an object": byType(({ type }) =>
      type in SECRETS ? String(SECRETS[type]) : undefined,
    ),
    "finds a secret for the type constructor in an object": byType(({ type }) =>
      type === "constructor" ? String(SECRETS[type]) : SECRETS[type],
    ),
    "takes the id for a secret that it does not have": overriding({
      secrets: ({ id }) => [TEST_SECRET, id],
    }),
  },
  leaked_signature: {
    "answers the expected signature in hex": leaking("hex"),
    "answers the expected signature in base64": leaking("base64"),
    "answers the expected signature in JSON from a logger that escapes slashes": overriding(
      (right) => ({
        refuse(reason, request) {
          const mac = request && right.mac(TEST_SECRET, request).toString("base64");
          return [409, JSON.stringify({ reason, mac }).replaceAll("/", "\\/")];
        },
      }),
    ),
    "answers the expected signature in a header": overriding((right) => ({
      refuse(reason, request) {
        if (request === undefined) return right.refuse(reason);
        const mac = right.mac(TEST_SECRET, request).toString("hex");
        return [409, reason, { "x-expected": mac.toUpperCase() }];
      },
    })),
  },
  wrong_secret: {
    "does not verify": overriding({ isSigned: () => true }),
    "does not verify events": skipping(({ type }) => type !== "new_alarm"),
    "does not verify what is sent as text/plain": skipping(
      ({ req }) => req.headers["content-type"] === "text/plain",
    ),
    "does not verify bodies without Content-Length": skipping(
      ({ req }) => req.headers["content-length"] === undefined,
    ),
    "does not verify requests of this machine": skipping(({ req }) =>
      /127\.0\.0\.1|::1/.test(String(req.socket.remoteAddress)),
    ),
    "does not verify what a proxy forwards from inside": skipping(
      ({ req }) => req.headers["x-forwarded-for"] === "127.0.0.1",
    ),
    "does not verify what X-Real-IP says is from inside": skipping(
      ({ req }) => req.headers["x-real-ip"] === "127.0.0.1",
    ),
    "does not verify what Forwarded says is from inside": skipping(({ req }) =>
      String(req.headers.forwarded).includes("for=127.0.0.1"),
    ),
    "does not verify what X-Forwarded-Host says is for localhost": skipping(
      ({ req }) => req.headers["x-forwarded-host"] === "localhost",
    ),
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
    "does not verify a type that it does not know": overriding((right) => ({
      isSigned: (request) => !Object.hasOwn(SECRETS, request.type) || right.isSigned(request),
      typeOf: (parsed, request) =>
        Object.hasOwn(SECRETS, request.type) ? right.typeOf(parsed, request) : request.type,
    })),
    "compares the length alone": comparing((mac, given) => mac.length === given.length),
  },
  forged_http_1_0: {
    "does not verify HTTP/1.0": skipping(({ req }) => req.httpVersion === "1.0"),
    "does not verify requests without a host": skipping(
      ({ req }) => req.headers.host === undefined,
    ),
  },
  exact_bytes: {
    "verifies events that it has serialized again": verifying((body, { type }) =>
      type === "new_alarm" ? body : JSON.stringify(JSON.parse(String(body))),
    ),
    "verifies JSON that it has serialized again": verifying((body) =>
      JSON.stringify(JSON.parse(String(body))),
    ),
    "changes line ends before it verifies": verifying((body) =>
      String(body).replaceAll("\r\n", "\n"),
    ),
  },
  non_ascii: {
    "composes characters before it verifies": verifying((body) => String(body).normalize("NFC")),
  },
  other_bytes: {
    "trims the body before it verifies": verifying((body) => String(body).trim()),
  },
  other_bytes_same_text: {
    "decodes the body before it verifies": verifying(String),
    "drops invalid bytes before it verifies": verifying((body) =>
      String(body).replaceAll("\uFFFD", ""),
    ),
    "drops a byte order mark before it verifies": verifying((body) =>
      body[0] === 0xef ? body.subarray(3) : body,
    ),
    "drops NUL bytes before it verifies": verifying((body) =>
      Buffer.from(body.filter((byte) => byte !== 0)),
    ),
    "decodes UTF-16 before it verifies": verifying((body, { req }) =>
      req.headers["content-type"]?.includes("utf-16") === true ? body.toString("utf16le") : body,
    ),
  },
  unsigned: {
    "verifies only if there is a signature": overriding((right) => ({
      readHeaders(req, body) {
        const { headers } = req;
        if ("x-webhook-signature" in headers) return right.readHeaders(req, body);
        headers["x-webhook-signature"] = `v1=${"0".repeat(64)}`;
        const request = right.readHeaders(req, body);
        return request && { ...request, signature: "" };
      },
      isSigned: (request) => request.signature === "" || right.isSigned(request),
    })),
    "accepts an empty signature": comparing((mac, given) => given === "" || mac === given),
  },
  partial_signature: {
    "accepts the beginning of a signature": comparing((mac, given) => mac.startsWith(given)),
    "accepts a part of a signature": comparing((mac, given) => mac.includes(given)),
    "compares a quarter of the signature": comparingPart((digits) => digits.slice(0, 16)),
    "compares the second half of the signature": comparingPart((digits) => digits.slice(32)),
    "skips the first digit": comparingPart((digits) => digits.slice(1)),
    "skips the last digit": comparingPart((digits) => digits.slice(0, -1)),
    "skips the tenth byte": comparingPart((digits) => without(digits, 18)),
    "skips one digit in the middle": comparingPart((digits) => without(digits, 45, 1)),
    "compares the sorted digits": comparingPart((digits) => Array.from(digits).sort().join("")),
    "compares the sums of the bytes": comparingBytes((bytes) =>
      bytes.reduce((sum, byte) => sum + byte, 0),
    ),
    "adds up the differences of the bytes": overriding({
      matches(mac, signature) {
        const given = Buffer.from(signature.slice("v1=".length), "hex");
        return mac.reduce((sum, byte, at) => sum + byte - (given[at] ?? 0), 0) === 0;
      },
    }),
    "compares the sorted bytes": comparingBytes((bytes) =>
      Buffer.from(bytes).sort().toString("hex"),
    ),
    "also compares the bytes in the other order": comparing((mac, given) =>
      [mac, Buffer.from(mac, "hex").reverse().toString("hex")].includes(given),
    ),
    "compares base64 without letter case": comparingBytes((bytes) =>
      bytes.toString("base64").toLowerCase(),
    ),
    "compares as many bytes as could be decoded": comparing((mac, given) => {
      const bytes = Buffer.from(given, "hex");
      return bytes.equals(Buffer.from(mac, "hex").subarray(0, bytes.length));
    }),
  },
  other_signature_schemes: {
    "also accepts a signature of the body alone": alsoSigned(() => ""),
    "also accepts a signature in GitHub's format": overriding((right) => ({
      grammar: () => ({ ...right.grammar(), signature: /^(?:v1|sha256)=[0-9a-f]{64}$/ }),
      isSigned(request) {
        const mac = hmac(TEST_SECRET, request.body).toString("hex");
        return request.signature === `sha256=${mac}` || right.isSigned(request);
      },
    })),
    "also accepts a signature without the id": alsoSigned(({ timestamp }) => `v1:${timestamp}:`),
    "also accepts a signature of timestamp and body": alsoSigned(
      ({ timestamp }) => `${timestamp}.`,
    ),
    "also accepts a signature without the timestamp": alsoSigned(({ id }) => `v1:${id}:`),
    "also accepts the scheme of Standard Webhooks": alsoSigned(
      ({ id, timestamp }) => `${id}.${timestamp}.`,
    ),
    "also accepts a signature of the headers alone": overriding((right) => ({
      isSigned: (request) =>
        right.isSigned(request) || right.isSigned({ ...request, body: Buffer.alloc(0) }),
    })),
    "also accepts a hash without a secret": overriding((right) => ({
      isSigned(request) {
        const { id, timestamp, body, signature } = request;
        const hash = createHash("sha256").update(`v1:${timestamp}:${id}:`).update(body);
        return signature === `v1=${hash.digest("hex")}` || right.isSigned(request);
      },
    })),
  },
  other_id: {
    "remembers good signatures and no longer looks at what they cover": overriding((right) => {
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
    "keeps in one variable whether the request is signed": overriding((right) => {
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
    "verifies the timestamp that it has parsed": overriding((right) => {
      const parsed = (request: Request) => {
        return { ...request, timestamp: String(Number.parseInt(request.timestamp)) };
      };
      return {
        grammar: () => ({ ...right.grammar(), timestamp: /./ }),
        mac: (secret, request) => right.mac(secret, parsed(request)),
        isFresh: (request) => right.isFresh(parsed(request)),
      };
    }),
  },
  delimiter_shift: {
    "takes any id and handles bodies that it cannot read": overriding((right) => ({
      grammar: () => ({ ...right.grammar(), id: /./ }),
      unreadable: (_error, request) => right.handleOnce(request, {}),
    })),
  },
  type_flip: {
    "believes X-Webhook-Type": overriding({
      typeOf: (parsed, { type }) => (isFields(parsed) ? type : undefined),
    }),
    "acknowledges and drops an alarm whose X-Webhook-Type it does not know": overriding(
      (right) => ({
        refuse(reason, request) {
          const isUnknown = reason === "another type" && SECRETS[request?.type ?? ""] === undefined;
          return isUnknown ? [200, "ignored"] : right.refuse(reason, request);
        },
      }),
    ),
    "takes the content for the type when it does not know X-Webhook-Type": overriding((right) => ({
      typeOf(parsed, request) {
        const type = right.typeOf(parsed, request);
        return SECRETS[request.type] === undefined && type !== undefined ? request.type : type;
      },
    })),
  },
  missing_headers: {
    "makes up an id where there is none, and skips the signature then": overriding((right) => ({
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

function leaking(encoding: "hex" | "base64") {
  return overriding((right) => ({
    refuse(reason, request) {
      if (request === undefined) return right.refuse(reason);
      const expected = right.mac(TEST_SECRET, request).toString(encoding);
      return [409, `expected v1=${expected}`];
    },
  }));
}

function skipping(isTrusted: (request: Request) => boolean) {
  return overriding((right) => ({
    isSigned: (request) => isTrusted(request) || right.isSigned(request),
  }));
}

/** Compares the digits of two signatures, of which the given one may be any text. */
function comparing(isEqual: (mac: string, given: string) => boolean) {
  return overriding((right) => ({
    grammar: () => ({ ...right.grammar(), signature: /^(?:v1=.*)?$/ }),
    matches: (mac, signature) => isEqual(mac.toString("hex"), signature.slice("v1=".length)),
  }));
}

/** Compares what is made of the digits of two signatures. */
function comparingPart(partOf: (digits: string) => string) {
  return comparing((mac, given) => partOf(mac) === partOf(given));
}

/** Compares what is computed from the bytes of two signatures. */
function comparingBytes(digest: (bytes: Buffer) => string | number) {
  return overriding({
    matches: (mac, signature) =>
      digest(mac) === digest(Buffer.from(signature.slice("v1=".length), "hex")),
  });
}

/** A text without the digits at a position. */
function without(text: string, at: number, digits = 2): string {
  return text.slice(0, at) + text.slice(at + digits);
}

/** Also accepts a signature of another prefix and the body. */
function alsoSigned(prefixOf: (request: Request) => string) {
  return overriding((right) => ({
    isSigned(request) {
      const mac = hmac(TEST_SECRET, prefixOf(request), request.body);
      return right.matches(mac, request.signature) || right.isSigned(request);
    },
  }));
}

/** Verifies something other than the bytes that arrived. */
function verifying(change: (body: Buffer, request: Request) => string | Buffer) {
  return overriding((right) => ({
    isSigned(request) {
      try {
        return right.isSigned({ ...request, body: Buffer.from(change(request.body, request)) });
      } catch {
        return false;
      }
    },
    parse: (body, request) =>
      JSON.parse(String(change(body, request)).replace("\uFEFF", "")) as unknown,
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
