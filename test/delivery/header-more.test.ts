import { beforeEach, expect, test, vi } from "vitest";
import { createWebhookReceiver, memoryStore, type WebhookHandlers } from "../../src/index.js";
import {
  inbox,
  inboxConsume,
  type InboxJob,
  type InboxOverflow,
  type QueueMessage,
} from "../../src/inbox/index.js";
import { NOW_MS, TEST_SECRET, delivery } from "../support/deliveries.js";

vi.mock(import("../../src/delivery/headers.js"), async (original) => {
  const real = await original();
  const attempt = { ...real.HEADERS.type, name: "X-Webhook-Attempt", neededBy: "none" };
  return { ...real, HEADERS: { ...real.HEADERS, attempt } };
});

const seen: unknown[] = [];
const handler = (_: unknown, context: object) => void seen.push(Reflect.get(context, "attempt"));

function receiverWith(handlers: WebhookHandlers) {
  return createWebhookReceiver({ secret: TEST_SECRET, handlers, logger: false, now: () => NOW_MS });
}

beforeEach(() => {
  seen.length = 0;
});

test.each([
  ["once", "3", "3"],
  ["not at all", undefined, undefined],
  ["in two lines", ["3", "4"], undefined],
  ["joined by a comma", "3, 4", undefined],
])("a header that is added to the table is handled when it is sent %s", async (_, sent, found) => {
  const request = await delivery();
  const headers = { ...request.headers, "X-Webhook-ATTEMPT": sent };
  const answer = await receiverWith({ new_alarm: handler }).receive({ ...request, headers });
  expect([answer.outcome, ...seen]).toEqual(["handled", found]);
});

test("a header that no delivery needs makes no GET a delivery", async () => {
  const headers = { "x-webhook-attempt": "3" };
  const request = { method: "GET", headers, body: "" };
  expect((await receiverWith({ new_alarm: handler }).receive(request)).outcome).toBe("reachable");
});

const kept = new Map<string, Uint8Array>();
const overflow: InboxOverflow = {
  put: async (key, body) => Promise.resolve(kept.set(key, body)),
  get: async (key) => Promise.resolve(kept.get(key) ?? new Uint8Array()),
};
const NOT_UTF8 = Buffer.from([0xff, 0xfe]);

test.each([
  ["utf-8", undefined, undefined],
  ["base64", NOT_UTF8, undefined],
  ["overflow", undefined, overflow],
] as const)(
  "a header that is added to the table reaches the worker of an inbox: %s",
  async (...row) => {
    const [encoding, body, given] = row;
    const jobs: InboxJob[] = [];
    const driver = {
      put: async (job: InboxJob) => Promise.resolve(void jobs.push(job)),
      ...(given === undefined ? {} : { maxJobBytes: 1 }),
    };
    const receiver = receiverWith(inbox({ driver, overflow: given }));
    const request = await delivery(body === undefined ? {} : { body });
    const headers = { ...request.headers, "x-webhook-attempt": "3" };
    expect(await receiver.receive({ ...request, headers })).toMatchObject({ outcome: "handled" });
    expect(jobs).toMatchObject([{ encoding, attempt: "3" }]);

    const worker = inboxConsume({
      driver: { extends: "never", receive: () => ({ stop: async () => Promise.resolve() }) },
      store: memoryStore(),
      overflow: given,
      handlers: { new_alarm: handler, unrecognized: handler },
      logger: false,
    });
    const message: QueueMessage = {
      id: "m-1",
      data: JSON.parse(JSON.stringify(jobs[0])) as unknown,
      attempt: 1,
      settle: async () => Promise.resolve(true),
    };
    await worker.run(message);
    await worker.stop();
    expect(seen).toEqual(["3"]);
  },
);
