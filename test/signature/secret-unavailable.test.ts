import { describe, expect, test, vi } from "vitest";
import {
  createWebhookReceiver,
  type SecretFunction,
  type WebhookRequest,
} from "../../src/index.js";
import type { SecretList } from "../../src/signature/secrets.js";
import { NOW_MS, TEST_SECRET, alarm, delivery } from "../support/deliveries.js";
import { deferred } from "../support/deferred.js";
import { throwing } from "../support/faults.js";
import { recordingReceiver } from "../support/recording-receiver.js";

const UNAVAILABLE = { status: 503, outcome: "secret_unavailable" };
const outage = new Error("the vault is sealed");
const giving = (value: unknown) => () => value as SecretList;

describe("a secret function without a usable secret", () => {
  test.each<[string, SecretFunction]>([
    ["it throws", throwing(outage)],
    ["it rejects", () => Promise.reject(outage)],
    [
      "it rejects with undefined",
      giving({
        then: (_: unknown, reject: () => void) => reject(),
      }),
    ],
    ["it returns a thenable that throws", () => ({ then: throwing(outage) })],
    ["it returns an empty text", giving("")],
    ["it returns white space", giving(" \n")],
    ["it returns a text with a newline at the end", giving(`${TEST_SECRET}\n`)],
    ['it returns the text "undefined"', giving("undefined")],
    ["it returns a list without a usable secret", giving(["", undefined, null, 5])],
    ["it returns a list with a hole", giving(new Array(1))],
    ["it returns bytes", giving(Buffer.from(TEST_SECRET))],
    ["it returns a number", giving(5)],
    ["it returns secrets per type", giving({ new_alarm: TEST_SECRET })],
    ["it returns a function", giving(() => TEST_SECRET)],
  ])(
    "a secret function without a usable secret is answered 503 secret_unavailable: %s",
    async (_, secret) => {
      const { receive, handled, reports } = recordingReceiver({ secret, unverifiable: "reject" });
      expect(await receive(await delivery())).toMatchObject(UNAVAILABLE);
      expect(handled).toEqual([]);
      expect(reports).toHaveLength(1);
      // Nothing is verified yet, so the report contains nothing that the request claims.
      expect(reports[0]).not.toHaveProperty("id");
      expect(JSON.stringify(reports)).not.toContain(TEST_SECRET);
    },
  );

  test("a secret function that throws has its error reported unchanged", async () => {
    const { receive, reports } = recordingReceiver({ secret: () => Promise.reject(outage) });
    await receive(await delivery());
    expect(reports[0]?.error).toBe(outage);
  });

  test("a secret function that returns no usable secret is reported with a name, a code and what it may return", async () => {
    const { receive, reports } = recordingReceiver({ secret: giving("") });
    await receive(await delivery());
    expect(reports[0]?.error).toMatchObject({ code: "no_usable_secret" });
    expect(reports[0]?.error).toMatchObject({
      name: "GatewayWebhookError",
      code: "no_usable_secret",
      message: expect.stringContaining("a non-empty string, or a list with one") as string,
    });
  });

  test("a delivery that was answered 503 without a usable secret is handled after the outage", async () => {
    let isSealed = true;
    const { receive, handled } = recordingReceiver({
      secret: () => (isSealed ? Promise.reject(outage) : TEST_SECRET),
    });
    const request = await delivery();
    expect(await receive(request)).toMatchObject(UNAVAILABLE);
    isSealed = false;
    expect((await receive(request)).outcome).toBe("handled");
    expect(handled).toEqual([alarm()]);
  });
});

describe("a secret function that takes longer than dependencyTimeoutMs", () => {
  function slowReceiver() {
    vi.useFakeTimers({ now: NOW_MS });
    const { promise, resolve: give, reject: fail } = deferred<string>();
    return {
      ...recordingReceiver({ secret: () => promise, dependencyTimeoutMs: 700 }),
      give,
      fail,
    };
  }

  test("a secret function that takes longer than dependencyTimeoutMs is given up, and its late secret does not run the handler", async () => {
    const request = await delivery();
    const { receive, give, handled, reports } = slowReceiver();
    const answer = receive(request);
    await vi.advanceTimersByTimeAsync(699);
    expect(reports).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await answer).toMatchObject(UNAVAILABLE);
    expect(String(reports[0]?.error)).toContain("700 ms");
    give(TEST_SECRET);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(handled).toEqual([]);
    expect(reports).toHaveLength(1);
  });

  test("a secret function that takes longer than dependencyTimeoutMs may fail late without effect", async () => {
    const request = await delivery();
    const { receive, fail, reports } = slowReceiver();
    const answer = receive(request);
    await vi.advanceTimersByTimeAsync(700);
    expect(await answer).toMatchObject(UNAVAILABLE);
    fail(outage);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(reports).toHaveLength(1);
  });

  test("a secret function that answers just before dependencyTimeoutMs is in time and leaves no timer behind", async () => {
    const request = await delivery();
    const { receive, give, handled } = slowReceiver();
    const answer = receive(request);
    await vi.advanceTimersByTimeAsync(699);
    give(TEST_SECRET);
    expect((await answer).outcome).toBe("handled");
    expect(handled).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("the calls of a secret function", () => {
  async function callsFor(change: (request: WebhookRequest) => object) {
    const secret = vi.fn(() => TEST_SECRET);
    const { receive, reports } = recordingReceiver({ secret, maxBodyBytes: 1_000 });
    const request = await delivery();
    await receive({ ...request, ...change(request) });
    return { calls: secret.mock.calls.length, outcome: reports[0]?.outcome };
  }

  const sent = (name: string, value?: string) => (request: WebhookRequest) => ({
    headers: { ...request.headers, [`x-webhook-${name}`]: value },
  });

  test.each<[string, string, Parameters<typeof callsFor>[0]]>([
    ["a malformed id", "malformed", sent("id", "a:b")],
    ["a malformed timestamp", "malformed", sent("timestamp", "now")],
    ["a malformed type", "malformed", sent("type", "")],
    ["a malformed signature", "malformed", sent("signature", "v1=")],
    ["no signature", "unsigned", sent("signature")],
    ["no headers", "malformed", () => ({ headers: {} })],
    ["a body that is too large", "body_too_large", () => ({ body: "x".repeat(1_001) })],
    ["a consumed body", "body_consumed", () => ({ body: { alarm: alarm() } })],
    ["another method", "method_not_allowed", () => ({ method: "PUT" })],
    ["a probe", "reachable", () => ({ method: "GET", headers: {} })],
  ])("a secret function is not called for %s", async (_, outcome, change) => {
    expect(await callsFor(change)).toEqual({ calls: 0, outcome });
  });

  test("a secret function is called for a delivery that could be genuine", async () => {
    expect(await callsFor(() => ({}))).toEqual({ calls: 1, outcome: "handled" });
  });

  test("a secret function is not called when the receiver is created", () => {
    const secret = vi.fn(() => TEST_SECRET);
    createWebhookReceiver({ secret, handlers: { new_alarm: () => undefined } });
    expect(secret).not.toHaveBeenCalled();
  });
});
