import { expect, it } from "vitest";
import type { WebhookTelemetry, TelemetryWork } from "../../src/index.js";
import { MemoryDriver } from "../support/inbox/memory-queue.js";
import {
  alarmDelivery,
  inboxReceiver,
  keepingQueue,
  settlesAt,
  watchWorker,
} from "../support/inbox/receiver-and-worker.js";
import { calledWorker } from "../support/inbox/called-worker.js";

const TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/** Telemetry that marks what is sent, and writes down what it sees. */
function tracer(mark: unknown = { traceparent: TRACEPARENT }) {
  const works: TelemetryWork[] = [];
  const ended: string[] = [];
  const telemetry: WebhookTelemetry<string> = {
    begin: (kind) => kind,
    run(_state, work, call) {
      works.push(work);
      if (work.kind === "send") Object.assign(work.carrier, mark);
      return call();
    },
    end: (kind, { outcome }) => ended.push(`${kind} ${outcome}`),
  };
  return { works, ended, telemetry };
}

it("telemetry follows a delivery through the queue to the worker", async () => {
  const driver = new MemoryDriver();
  const { works, ended, telemetry } = tracer();
  const delivery = await alarmDelivery(1);
  await inboxReceiver(driver, undefined, telemetry).receive(delivery);
  const { stop } = watchWorker(driver, () => undefined, { telemetry });
  await settlesAt(() => ended, ["send sent", "delivery handled", "job handled"]);
  await stop();
  const carrier = { traceparent: TRACEPARENT };
  const common = { id: delivery.headers["X-Webhook-Id"], type: "new_alarm" };
  expect(works).toMatchObject([
    { kind: "delivery", ...common },
    { kind: "send", ...common, queueName: "memory", carrier },
    { kind: "job", ...common, queueName: "memory", attempt: 1, takeover: false, carrier },
  ]);
});

it("a write that fails is reported to telemetry and to the gateway", async () => {
  const { ended, telemetry } = tracer();
  const driver = { put: () => Promise.reject(new Error("made up")) };
  const receiver = inboxReceiver(driver, undefined, telemetry);
  expect((await receiver.receive(await alarmDelivery(1))).outcome).toBe("handler_failed");
  expect(ended).toEqual(["send failed", "delivery handler_failed"]);
});

it.each([
  ["no object", "00-1"],
  ["another grammar", { traceparent: "Jane Doe" }],
  ["a number", { traceparent: 5 }],
])("a carrier that is %s does not get into the job", async (_, carrier) => {
  const { jobs, driver } = keepingQueue();
  const receiver = inboxReceiver(driver, undefined, tracer(carrier).telemetry);
  await receiver.receive(await alarmDelivery(1));
  expect(jobs).toHaveLength(1);
  expect(jobs[0]).not.toHaveProperty("trace");
});

it("telemetry gets the carrier of a job only if it is well-formed", async () => {
  const { works, telemetry } = tracer();
  const { jobs, driver } = keepingQueue();
  const receiver = inboxReceiver(driver);
  await receiver.receive(await alarmDelivery(1));
  const work = calledWorker({ handlers: { new_alarm: () => undefined }, telemetry });
  const long = "x".repeat(513);
  const traces = [
    { traceparent: TRACEPARENT, tracestate: "a=b" },
    { traceparent: TRACEPARENT, tracestate: long },
    { traceparent: `${TRACEPARENT} ` },
    null,
  ];
  for (const trace of traces) await work({ ...jobs[0], trace });
  expect(works.map((one) => "carrier" in one && one.carrier)).toEqual([
    { traceparent: TRACEPARENT, tracestate: "a=b" },
    { traceparent: TRACEPARENT },
    {},
    {},
  ]);
});
