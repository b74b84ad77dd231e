import { describe, expect, test } from "vitest";
import type { WebhookRequest } from "../../src/index.js";
import { diagnoseSignature } from "../../kit/diagnosis/diagnose-signature.js";
import { ALARM_BODY, captured, codesOf, diagnose, SECRET, TIMESTAMP } from "./diagnosis-capture.js";
import { recordingReceiver } from "../support/recording-receiver.js";

/** The outcome of a receiver with the same secret, clock and size limit. */
async function outcomeOf(request: unknown, maxBodyBytes?: number): Promise<string> {
  const { receive } = recordingReceiver({ secret: SECRET, maxBodyBytes });
  return (await receive(request as WebhookRequest)).outcome;
}

describe("the receiver's own refusals", () => {
  test.each(["PUT", "", "post ", "\u0000"])(
    "diagnoseSignature reports the method %j, which a receiver refuses",
    async (method) => {
      const options = { ...captured(), method };
      const { result, findings } = await diagnoseSignature(options);
      expect(result).toBe("bad");
      expect(findings).toMatchObject([{ code: "method_not_post", certainty: "seen" }]);
      expect(await outcomeOf(options)).toBe("method_not_allowed");
    },
  );

  test.each(["POST", "post", undefined])(
    "diagnoseSignature accepts the method %j, as a receiver does",
    async (method) => {
      expect(await codesOf({}, { method })).toEqual([]);
      expect(await outcomeOf({ ...captured(), method })).toBe("handled");
    },
  );

  test("diagnoseSignature reports a body above maxBodyBytes and accepts one at the limit", async () => {
    const bytes = Buffer.byteLength(ALARM_BODY);
    expect(await codesOf({}, { maxBodyBytes: bytes })).toEqual([]);
    expect(await outcomeOf(captured(), bytes)).toBe("handled");
    const { result, findings } = await diagnose({}, { maxBodyBytes: bytes - 1 });
    expect(result).toBe("bad");
    expect(findings).toMatchObject([
      { code: "body_too_large", certainty: "seen", capturedBytes: bytes },
    ]);
    expect(await outcomeOf(captured(), bytes - 1)).toBe("body_too_large");
  });

  test("diagnoseSignature has the receiver's default of maxBodyBytes", async () => {
    for (const [length, codes] of [
      [1_048_576, []],
      [1_048_577, ["body_too_large"]],
    ] as const) {
      const body = ALARM_BODY.padEnd(length - Buffer.byteLength(ALARM_BODY) + ALARM_BODY.length);
      expect(Buffer.byteLength(body)).toBe(length);
      expect(await codesOf({ body }, { body })).toEqual(codes);
    }
  });

  test("diagnoseSignature compares the signed body with maxBodyBytes, not a longer capture", async () => {
    const body = Buffer.from(ALARM_BODY).toString("base64");
    const maxBodyBytes = Buffer.byteLength(ALARM_BODY);
    expect(await codesOf({}, { body, maxBodyBytes })).toEqual(["body_base64"]);
  });

  test("diagnoseSignature reports method and body size in addition to an unexplained signature", async () => {
    const codes = await codesOf({ secret: "whsec_unknown" }, { method: "GET", maxBodyBytes: 1 });
    expect(codes).toEqual(["method_not_post", "body_too_large", "unexplained"]);
  });

  test.each([
    ["a number", Number(TIMESTAMP)],
    ["a number in a list", [Number(TIMESTAMP)]],
  ])(
    "diagnoseSignature reports a timestamp that is %s, as a receiver refuses it",
    async (_, timestamp) => {
      const options = captured();
      const headers = { ...(options.headers as object), "X-Webhook-Timestamp": timestamp };
      const { result, findings } = await diagnoseSignature({ ...options, headers });
      expect(result).toBe("bad");
      expect(findings).toMatchObject([
        { code: "header_malformed", certainty: "proven", header: "X-Webhook-Timestamp" },
      ]);
      expect(await outcomeOf({ ...options, headers })).toBe("malformed");
      const unexplained = await diagnoseSignature({ ...options, headers, secret: "whsec_unknown" });
      expect(unexplained.findings).toMatchObject([
        { code: "header_malformed", certainty: "seen" },
        { code: "unexplained" },
      ]);
    },
  );

  test.each([
    ["method", 7],
    ["maxBodyBytes", 0],
    ["maxBodyBytes", 1.5],
  ])("diagnoseSignature refuses the option %s of %j", async (name, value) => {
    await expect(diagnoseSignature({ ...captured(), [name]: value })).rejects.toMatchObject({
      code: "invalid_option",
    });
  });
});

function thrower(): never {
  throw new Error("hostile");
}

/** All traps of a Proxy. Each throws. */
const THROWS = Object.fromEntries(
  Object.getOwnPropertyNames(Reflect).map((trap) => [trap, thrower]),
);

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

function detached<T extends ArrayBuffer | ArrayBufferView<ArrayBuffer>>(given: T): T {
  const buffer = given instanceof ArrayBuffer ? given : given.buffer;
  structuredClone(buffer, { transfer: [buffer] });
  return given;
}

describe("hostile input", () => {
  test.each<[string, () => unknown]>([
    ["a revoked Proxy", revoked],
    ["a Proxy that throws", () => new Proxy({}, THROWS)],
    ["a Proxy of bytes that throws", () => new Proxy(new Uint8Array(3), THROWS)],
    ["a detached Uint8Array", () => detached(new Uint8Array(10))],
    ["a detached DataView", () => detached(new DataView(new ArrayBuffer(10)))],
    ["a detached ArrayBuffer", () => detached(new ArrayBuffer(10))],
    [
      "bytes whose buffer throws",
      () => Object.defineProperty(new Uint8Array(3), "buffer", { get: thrower }),
    ],
    ["an object whose toJSON throws", () => ({ toJSON: thrower })],
    [
      "an object whose prototype is a revoked Proxy",
      () => Object.create(revoked() as object) as unknown,
    ],
    ["a symbol", () => Symbol("body")],
    ["a function", () => thrower],
    ["a bigint", () => 7n],
  ])("diagnoseSignature diagnoses a body that is %s", async (_, bodyOf) => {
    const { result, findings } = await diagnose({}, { body: bodyOf() });
    expect(result).toBe("bad");
    expect(findings.map(({ code }) => code)).toEqual(["body_empty", "unexplained"]);
  });

  test("diagnoseSignature reads the bytes at the call, even if their buffer is transferred later", async () => {
    const body = new TextEncoder().encode(ALARM_BODY);
    const diagnosis = diagnose({ body: `${ALARM_BODY}\n` }, { body });
    detached(body);
    expect((await diagnosis).findings).toMatchObject([{ code: "body_trailing_newline" }]);
  });

  test.each<[string, () => unknown]>([
    ["a revoked Proxy", revoked],
    ["a Proxy that throws", () => new Proxy({}, THROWS)],
    ["a list of revoked Proxies", () => [revoked()]],
    ["a record of values that throw", () => ({ "X-Webhook-Id": revoked() })],
  ])("diagnoseSignature does not reject for headers that are %s", async (_, headersOf) => {
    expect((await codesOf({}, { headers: headersOf() }))[0]).toBe("all_headers_missing");
  });
});
