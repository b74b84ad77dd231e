import { backend } from "#crypto";
import { expect, test, vi } from "vitest";
import {
  createWebhookReceiver,
  type SecretFunction,
  type WebhookRequest,
} from "../../src/index.js";
import type { SecretList, SecretQuery } from "../../src/signature/secrets.js";
import { NOW_MS, TEST_SECRET, alarm, delivery, eventDelivery } from "../support/deliveries.js";
import { deferred } from "../support/deferred.js";
import { throwing } from "../support/faults.js";
import { recordingReceiver } from "../support/recording-receiver.js";

const UNAVAILABLE = { status: 503, outcome: "secret_unavailable" };
const outage = new Error("the vault is sealed");
const giving = (value: unknown) => () => value as SecretList;

test.each<[string, SecretFunction]>([
  ["a text", () => TEST_SECRET],
  ["a promise of a list", () => Promise.resolve([TEST_SECRET])],
  ["a thenable", () => ({ then: (...then) => Promise.resolve(TEST_SECRET).then(...then) })],
])("a secret function may return %s", async (_, secret) => {
  const { receive, reports } = recordingReceiver({ secret });
  await receive(await delivery());
  await receive(await delivery({ id: "b", secret: "whsec_another" }));
  expect(reports.map(({ outcome }) => outcome)).toEqual(["handled", "signature_mismatch"]);
});

test("a secret function receives documented types alone, and each of them for an undocumented type", async () => {
  const queries: SecretQuery[] = [];
  const { receive } = recordingReceiver({
    secret: (query) => {
      queries.push(query);
      return TEST_SECRET;
    },
  });
  await receive(await delivery({ id: "first" }));
  await receive(await eventDelivery("DATA_DELETED", { id: "second" }));
  expect(queries.splice(0)).toEqual([{ type: "new_alarm" }, { type: "delete_my_data_event" }]);
  for (const type of ["added_later", "constructor", "__proto__", "NEW_ALARM"]) {
    await receive(await delivery({ id: type, type }));
    expect(queries.splice(0)).toEqual([{ type: "new_alarm" }, { type: "delete_my_data_event" }]);
  }
});

test.each([
  ["the first type's secret", "whsec_of_alarms", "unrecognized", 503],
  ["the last type's secret", "whsec_of_events", "unrecognized", 503],
  ["no type's secret", "whsec_of_a_stranger", "signature_mismatch", 409],
])(
  "an undocumented type, signed with %s, is answered as with a map of secrets",
  async (_, secret, outcome, status) => {
    const secrets = { new_alarm: "whsec_of_alarms", delete_my_data_event: "whsec_of_events" };
    const request = await delivery({ type: "added_later", body: "{}", secret });
    for (const option of [secrets, ({ type }: SecretQuery) => secrets[type]]) {
      const { receive } = recordingReceiver({ secret: option });
      expect(await receive(request)).toMatchObject({ outcome, status });
      const strict = recordingReceiver({ secret: option, unverifiable: "reject" });
      expect(await strict.receive(request)).toMatchObject({ outcome });
    }
  },
);

test("a secret function may return other secrets each time, used for their own delivery", async () => {
  const given: (string | string[])[] = ["whsec_a", ["whsec_b", "whsec_a"], "whsec_b"];
  const { receive, reports } = recordingReceiver({ secret: () => given.shift() ?? [] });
  for (const id of ["a", "b", "c"]) await receive(await delivery({ id, secret: "whsec_a" }));
  expect(reports.map(({ outcome, secretIndex }) => [outcome, secretIndex])).toEqual([
    ["handled", 0],
    ["handled", 1],
    ["signature_mismatch", undefined],
  ]);
});

test("a secret function's list may have unusable entries, and the others keep their own index", async () => {
  const secret = ["", undefined, " x ", "undefined", TEST_SECRET] as string[];
  const { receive, reports } = recordingReceiver({ secret: () => secret });
  await receive(await delivery());
  expect(reports).toMatchObject([{ outcome: "handled", secretIndex: 4 }]);
});

test("an unusable entry of a secret function's list is named once, and one that is not set is none", async () => {
  const list = [undefined, null, "whsec_new_0123456789abcdef\n", TEST_SECRET] as string[];
  const { receive, lines } = recordingReceiver({ secret: () => list });
  for (const id of ["a", "b"]) await receive(await delivery({ id }));
  expect(lines.map(({ message }) => message)).toEqual([
    expect.stringMatching(/entry 2 of .* secret function .* white space at an end/),
  ]);
  expect(JSON.stringify(lines)).not.toContain("whsec_new");
});

test("a secret function is called for each delivery, but the key of a returned secret is made once", async () => {
  const secret = vi.fn(() => ["whsec_one", "whsec_two"]);
  const { receive, reports } = recordingReceiver({ secret });
  const requests = [
    await delivery({ id: "a", secret: "whsec_two" }),
    await delivery({ id: "b", secret: "whsec_one" }),
    await delivery({ id: "c", secret: "whsec_three" }),
  ];
  const importKey = vi.spyOn(backend, "importKey");
  for (const request of requests) await receive(request);
  expect(secret).toHaveBeenCalledTimes(3);
  expect(importKey.mock.calls).toEqual([["whsec_one"], ["whsec_two"]]);
  expect(reports.map(({ secretIndex }) => secretIndex)).toEqual([1, 0, undefined]);
});

test.each<[string, SecretFunction]>([
  ["it throws", throwing(outage)],
  ["it rejects", () => Promise.reject(outage)],
  ["it rejects with undefined", giving({ then: (_: unknown, reject: () => void) => reject() })],
  ["it returns a thenable that throws", () => ({ then: throwing(outage) })],
  ["it returns an empty text", giving("")],
  ["it returns a text with a newline at the end", giving(`${TEST_SECRET}\n`)],
  ["it returns a list without a usable secret", giving(["", undefined, null, 5])],
  ["it returns a list with a hole", giving(new Array(1))],
  ["it returns bytes", giving(Buffer.from(TEST_SECRET))],
  ["it returns secrets per type", giving({ new_alarm: TEST_SECRET })],
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

test("a secret function that returns no usable secret is reported with a name, a code and what it may return", async () => {
  const { receive, reports } = recordingReceiver({ secret: giving("") });
  await receive(await delivery());
  expect(reports[0]?.error).toMatchObject({
    name: "GatewayWebhookError",
    code: "no_usable_secret",
    message: expect.stringContaining("a non-empty string, or a list with one") as string,
  });
});

/** A receiver that has waited for its secret for so many milliseconds. */
async function waitingFor(ms: number) {
  const request = await delivery();
  vi.useFakeTimers({ now: NOW_MS });
  const { promise, resolve: give, reject: fail } = deferred<string>();
  const recording = recordingReceiver({ secret: () => promise, dependencyTimeoutMs: 700 });
  const answer = recording.receive(request);
  await vi.advanceTimersByTimeAsync(ms);
  return { ...recording, answer, give, fail };
}

test.each([
  ["its late secret does not run the handler", true],
  ["its late error has no effect", false],
])(
  "a secret function that takes longer than dependencyTimeoutMs is given up, and %s",
  async (_, isGiven) => {
    const { answer, give, fail, handled, reports } = await waitingFor(700);
    expect(await answer).toMatchObject(UNAVAILABLE);
    expect(String(reports[0]?.error)).toContain("the secret function took longer than 700 ms");
    if (isGiven) give(TEST_SECRET);
    else fail(outage);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(handled).toEqual([]);
    expect(reports).toHaveLength(1);
  },
);

test("a secret function that answers just before dependencyTimeoutMs is in time and leaves no timer behind", async () => {
  const { answer, give, handled } = await waitingFor(699);
  give(TEST_SECRET);
  expect((await answer).outcome).toBe("handled");
  expect(handled).toHaveLength(1);
  expect(vi.getTimerCount()).toBe(0);
});

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
  ["a delivery that could be genuine", "handled", () => ({})],
  ["a malformed id", "malformed", sent("id", "a:b")],
  ["a malformed signature", "malformed", sent("signature", "v1=")],
  ["no signature", "unsigned", sent("signature")],
  ["a body that is too large", "body_too_large", () => ({ body: "x".repeat(1_001) })],
  ["a consumed body", "body_consumed", () => ({ body: { alarm: alarm() } })],
  ["another method", "method_not_allowed", () => ({ method: "PUT" })],
  ["a probe", "reachable", () => ({ method: "GET", headers: {} })],
])("a secret function is only called for genuine headers and bytes: %s", async (...row) => {
  const [, outcome, change] = row;
  expect(await callsFor(change)).toEqual({ calls: outcome === "handled" ? 1 : 0, outcome });
});

test("a secret function is not called when the receiver is created", () => {
  const secret = vi.fn(() => TEST_SECRET);
  createWebhookReceiver({ secret, handlers: { new_alarm: () => undefined } });
  expect(secret).not.toHaveBeenCalled();
});
