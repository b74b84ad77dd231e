import { expect, onTestFinished, test } from "vitest";
import { sampleAlarm } from "../../kit/samples/sample-alarm.js";
import { sampleOnlineDataEvent } from "../../kit/samples/sample-online-data-event.js";
import { signedDelivery } from "../../kit/signed-delivery.js";
import {
  startListener,
  type StartListenerOptions,
  type WebhookListener,
} from "../../kit/listener/start-listener.js";
import { answeringEndpoint, receivingEndpoint, silentUrl } from "../support/cli/cli-endpoint.js";
import { TEST_SECRET as secret } from "../support/deliveries.js";
import { eventually } from "../support/listening-receiver.js";

async function start(options: Partial<StartListenerOptions> = {}): Promise<WebhookListener> {
  const listener = await startListener({ secret, ...options });
  onTestFinished(listener.close);
  return listener;
}

const alarm = (account_id: number) =>
  signedDelivery({ alarm: sampleAlarm({ account_id, event_type: "iban_hacked" }), secret });

async function call(listener: WebhookListener, path: string, body?: unknown) {
  const { url, token } = listener.api;
  const answer = await fetch(new URL(path, url), {
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

const list = async (listener: WebhookListener, query: string) =>
  (await call(listener, `deliveries?${query}`)).body["deliveries"] as { seq: number }[];

test("next resolves to the delivery that is wanted, also to one that came before the call", async () => {
  const { url, outcomes } = await receivingEndpoint();
  const listener = await start({ forward: url });
  const waiting = listener.next({ type: "new_alarm", accountId: 42 });
  await fetch(listener.url, await alarm(7));
  const event = sampleOnlineDataEvent("DATA_DELETED", { account_id: 42 });
  await fetch(listener.url, await signedDelivery({ event, secret }));
  await fetch(listener.url, await alarm(42));
  expect(await waiting).toMatchObject({
    seq: 3,
    source: "gateway",
    outcome: "authentic",
    status: 200,
    type: "new_alarm",
    eventType: "iban_hacked",
    accountId: 42,
    forwarded: { status: 200, outcome: "handled" },
    answer: '{"outcome":"handled"}',
    attempt: 1,
    result: "acknowledged",
  });
  expect(await listener.next({ eventType: "DATA_DELETED" })).toMatchObject({ seq: 2 });
  expect(await listener.next()).toMatchObject({ seq: 1, accountId: 7 });
  expect(listener.deliveries().map(({ seq }) => seq)).toEqual([1, 2, 3]);
  expect(outcomes()).toEqual(["handled", "handled", "handled"]);
});

test("a delivery is returned once, and next says in time what arrived in place of the wanted one", async () => {
  const listener = await start();
  await fetch(listener.url, await alarm(1));
  const { body, ...forged } = await alarm(2);
  await fetch(listener.url, { ...forged, body: `${String(body)} ` });
  expect(await listener.next({ outcome: "signature_mismatch", status: 409 })).toMatchObject({
    seq: 2,
    findings: [{ code: "body_whitespace" }],
    differs: { offset: String(body).length, length: 1 },
  });
  expect(await listener.next({ accountId: 1 })).toMatchObject({ seq: 1 });
  const again = listener.next({ accountId: 1, timeoutMs: 1 });
  await expect(again).rejects.toThrow(
    "no such delivery within 1 ms; arrived so far: 2, the last: 200 handled new_alarm (returned before); 409 signature_mismatch (differs in accountId)",
  );
  await expect(again).rejects.toMatchObject({ code: "timeout" });
  const other = { type: "delete_my_data_event", eventType: "DATA_DELETED", status: 409 };
  await expect(listener.next({ ...other, timeoutMs: 1 })).rejects.toThrow(
    "200 handled new_alarm (differs in type new_alarm, eventType iban_hacked, status 200); 409 signature_mismatch (differs in type unknown, eventType unknown)",
  );
});

test("a list of the largest bodies has none of them, and each is fetched alone", async () => {
  const listener = await start();
  const body = "\u0001".repeat(1_048_576);
  for (let at = 0; at < 3; at++) await fetch(listener.url, { method: "POST", body });
  const listed = await list(listener, "after=0");
  expect(listed).toMatchObject([{ seq: 1 }, { seq: 2 }, { seq: 3, bytes: 1_048_576 }]);
  expect(JSON.stringify(listed).length).toBeLessThan(10_000);
  expect((await call(listener, "deliveries?seq=2")).body).toMatchObject({
    delivery: { seq: 2, body },
  });
  expect((await call(listener, "deliveries?seq=9")).body).toEqual({});
});

test("failNext fails the next attempts before the app sees them, and then the app handles the delivery", async () => {
  const { url, outcomes } = await receivingEndpoint();
  const listener = await start({ forward: url });
  listener.failNext(2);
  const delivery = await alarm(42);
  const statuses: number[] = [];
  for (let at = 0; at < 3; at++) statuses.push((await fetch(listener.url, delivery)).status);
  expect(statuses).toEqual([500, 500, 200]);
  expect(outcomes()).toEqual(["handled"]);
  const [first, second, third] = listener.deliveries();
  expect(first).toMatchObject({ outcome: "failed_on_request", attempt: 1, result: "retryable" });
  expect(third).toMatchObject({ attempt: 3, result: "acknowledged" });
  expect(third).not.toHaveProperty("againAt");
  // The gateway's schedule: after 10 s, then after 25 s, and given up after 6 h 40 min.
  const after = (name: "againAt" | "givenUpAt", from = first) =>
    Date.parse(second?.[name] ?? "") - Date.parse(from?.at ?? "");
  expect(after("againAt", second)).toBe(24_800);
  expect(Math.round(after("givenUpAt") / 60_000)).toBe(400);
});

test("without an app a delivery that failed on request is handled when it comes again", async () => {
  const listener = await start();
  listener.failNext(1, "no_answer");
  const delivery = await alarm(42);
  await expect(fetch(listener.url, delivery)).rejects.toThrow("fetch failed");
  // A forgery would have been refused anyway, so it uses up no failure.
  listener.failNext(1);
  const forged = { ...delivery, body: "{}" };
  expect((await fetch(listener.url, forged)).status).toBe(409);
  expect((await fetch(listener.url, delivery)).status).toBe(500);
  expect(await (await fetch(listener.url, delivery)).json()).toEqual({ outcome: "handled" });
  expect(await listener.next()).toMatchObject({ status: 0, result: "network_error", attempt: 1 });
});

test("the API lists what comes after a delivery, and waits for it", async () => {
  const listener = await start();
  expect(await list(listener, "after=0")).toEqual([]);
  const waiting = list(listener, "after=0&wait=30s&type=new_alarm&accountId=42");
  await fetch(listener.url, await alarm(1));
  await fetch(listener.url, await alarm(42));
  expect(await waiting).toMatchObject([{ seq: 2, accountId: 42 }]);
  expect(await list(listener, "after=1&wait=30s")).toMatchObject([{ seq: 2 }]);
  expect(await call(listener, "deliveries?status=409")).toEqual({
    status: 200,
    body: { deliveries: [], last: 2 },
  });
});

test.each(["after=-1", "after=x", "wait=61s", "wait=30", "wait=1000ms", "acountId=1"])(
  "the API refuses %s",
  async (query) => {
    const { status, body } = await call(await start(), `deliveries?${query}`);
    expect({ status, body }).toEqual({
      status: 400,
      body: { error: expect.any(String) as string },
    });
  },
);

test("the API sends a sample, the same again, a new one like it, and an edited one", async () => {
  const { url, outcomes } = await receivingEndpoint();
  const listener = await start({ forward: url });
  const sent = async (body: unknown) =>
    (await call(listener, "send", body)).body["delivery"] as { seq: number; body: string };
  const sample = await sent({ sample: "iban_hacked" });
  expect(sample).toMatchObject({ seq: 1, source: "listener", eventType: "iban_hacked" });
  await sent({ again: 1 });
  await sent({ again: 1, sign: true });
  const body = sample.body.replace('"NEW"', '"OLD"');
  expect(await sent({ again: 1, sign: true, body })).toMatchObject({ status: 200, body });
  expect(await sent({ again: 1, body })).toMatchObject({
    status: 409,
    outcome: "signature_mismatch",
    differs: { offset: sample.body.indexOf('"NEW"') + 1, length: 3 },
  });
  expect(await sent({ sample: "DATA_DELETED" })).toMatchObject({ type: "delete_my_data_event" });
  const wanted = ["handled", "duplicate", "handled", "handled", "signature_mismatch", "handled"];
  expect(outcomes()).toEqual(wanted);
  await call(listener, "send", { failNext: 1 });
  expect(await sent({ again: 1 })).toMatchObject({ outcome: "failed_on_request", status: 500 });
});

test.each([undefined, {}, [], { again: 99 }, { again: "1" }, { failNext: -1 }, { sample: 1 }])(
  "the API sends nothing for %j",
  async (body) => {
    const listener = await start();
    expect(await call(listener, "send", body ?? null)).toMatchObject({ status: 400 });
    expect(listener.deliveries()).toEqual([]);
  },
);

test("bytes that are no text are sent again as they were", async () => {
  const app = await answeringEndpoint({ status: 200 });
  const listener = await start({ forward: app.url });
  await fetch(listener.url, { method: "POST", body: Uint8Array.of(0xff, 0xfe) });
  expect(await listener.next()).toMatchObject({ bodyBase64: "//4=", attempt: 1 });
  await call(listener, "send", { again: 1 });
  expect(app.seen.map(({ body }) => body)).toEqual(["\ufffd\ufffd", "\ufffd\ufffd"]);
});

test("the listener remembers the last 500 deliveries, and counts all", async () => {
  const listener = await start();
  const answers = Array.from({ length: 510 }, () => fetch(listener.url, { method: "PUT" }));
  await Promise.all(answers.map(async (answer) => (await answer).text()));
  await eventually(() => listener.deliveries().at(-1)?.seq).toBe(510);
  expect(listener.deliveries()).toHaveLength(500);
  expect(await list(listener, "after=0")).toHaveLength(100);
  expect((await list(listener, "after=0"))[0]?.seq).toBe(11);
});

test("close ends each wait, and closes both ports; next then returns only what has arrived", async () => {
  const listener = await startListener({ secret, forward: await silentUrl() });
  expect((await fetch(listener.url, await alarm(1))).status).toBe(503);
  const waiting = list(listener, "after=9&wait=60s");
  // The first request is answered, so the second is waiting.
  await list(listener, "after=0");
  const closed = { code: "network", message: "the listener was closed" };
  const next = expect(listener.next({ accountId: 2 })).rejects.toMatchObject(closed);
  await listener.close();
  expect(await waiting).toEqual([]);
  await next;
  expect(await listener.next()).toMatchObject({ accountId: 1 });
  await expect(listener.next()).rejects.toMatchObject(closed);
  await expect(fetch(listener.url)).rejects.toThrow();
  await expect(fetch(listener.api.url)).rejects.toThrow();
});

test.each<[object, string]>([
  [{ secret: "" }, "secret"],
  [{ forward: "ftp://127.0.0.1/" }, "forward must be an http or https URL"],
  [{ port: 65_536 }, "port"],
  [{ timeoutMs: 0 }, "timeoutMs"],
  [{ forwards: "http://127.0.0.1/" }, "forwards"],
])("startListener refuses %j", async (options, message) => {
  await expect(startListener({ secret, ...options })).rejects.toThrow(message);
});

test("next and failNext refuse a misspelt filter, a time of 0 and a count below 0", async () => {
  const listener = await start();
  await expect(listener.next({ acountId: 1 } as object)).rejects.toThrow("acountId");
  await expect(listener.next({ timeoutMs: 0 })).rejects.toThrow("timeoutMs");
  expect(() => listener.failNext(-1)).toThrow("count");
  expect(() => listener.failNext(1, "503" as "500")).toThrow("failNext takes");
});
