import { expect, it } from "vitest";
import {
  createWebhookReceiver,
  type WebhookTelemetry,
  type WebhookReceiverOptions,
} from "../../src/index.js";
import { recoverDelivery } from "../../src/management/recover-delivery.js";
import { alarmReceiver, observedAlarmReceiver } from "../support/alarm-receiver.js";
import { linesWith } from "../support/collector.js";
import { never } from "../support/deferred.js";
import { delivery, eventDelivery, NOW_SECONDS, TEST_SECRET } from "../support/deliveries.js";
import { recordingReceiver } from "../support/recording-receiver.js";
import { throwing } from "../support/faults.js";

/** Telemetry that writes down its calls. */
function recorder() {
  const calls: unknown[] = [];
  const telemetry: WebhookTelemetry<number> = {
    begin(kind) {
      calls.push(["begin", kind]);
      return calls.length;
    },
    run(state, work, call) {
      calls.push(["run", state, work]);
      const result = call();
      calls.push(["ran"]);
      return result;
    },
    end(state, report) {
      calls.push(["end", state, report.outcome]);
    },
  };
  return { calls, telemetry };
}

/** Telemetry that does nothing. */
const silent: WebhookTelemetry = {
  begin: () => undefined,
  run: (_state, _work, call) => call(),
  end: () => undefined,
};

const ID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";

/** What each run was told of its work. */
function worksOf(calls: readonly unknown[]): object[] {
  const runs = (calls as [name: string, state: number, work: object][]).filter(
    ([name]) => name === "run",
  );
  return runs.map(([, , work]) => work);
}

it("telemetry begins with the request, runs around the handler and ends with the report", async () => {
  const { calls, telemetry } = recorder();
  const receiver = alarmReceiver(() => calls.push(["handler"]), { telemetry });
  const request = await delivery();
  await receiver.receive(request);
  const work = {
    kind: "delivery",
    id: ID,
    type: "new_alarm",
    takeover: false,
    timestampMs: NOW_SECONDS * 1000,
    bytes: Buffer.byteLength(request.body),
  };
  expect(calls).toEqual([
    ["begin", "delivery"],
    ["run", 1, work],
    ["handler"],
    ["ran"],
    ["end", 1, "handled"],
  ]);
});

it("the run of a recovered delivery says so, and no other does", async () => {
  const { calls, telemetry } = recorder();
  const receiver = alarmReceiver(() => undefined, { telemetry });
  const request = await delivery();
  await receiver.receive(request);
  await recoverDelivery(receiver, { id: "lost", type: "new_alarm", body: request.body });
  const [work = {}, lost = {}] = worksOf(calls);
  expect(work).toMatchObject({ id: ID });
  expect("recovered" in work || "eventType" in work || "eventType" in lost).toBe(false);
  expect(lost).toMatchObject({ id: "lost", recovered: true });
});

it("a request without a handler run has a beginning and an end", async () => {
  const { calls, telemetry } = recorder();
  const receiver = alarmReceiver(() => undefined, { telemetry });
  await receiver.receive(await delivery({ secret: "another secret of 20" }));
  await receiver.receive({ method: "GET", headers: {}, body: "" });
  expect(calls).toEqual([
    ["begin", "delivery"],
    ["end", 1, "signature_mismatch"],
    ["begin", "delivery"],
    ["end", 3, "reachable"],
  ]);
});

it("an event's type is named only if it is documented", async () => {
  const { calls, telemetry } = recorder();
  const { receiver, reports } = recordingReceiver({ telemetry });
  await receiver.receive(await eventDelivery("DATA_DELETED"));
  await receiver.receive(await eventDelivery("JANE_DOE", { id: "2" }));
  expect(worksOf(calls)).toMatchObject([{ eventType: "DATA_DELETED" }, { eventType: "other" }]);
  expect(reports.map(({ eventType }) => eventType)).toEqual(["DATA_DELETED", "other"]);
});

it("a handler that puts a getter that throws into its event changes no answer", async () => {
  const boom = throwing(new Error("made up"));
  const { receiver, reports } = recordingReceiver({
    handlers: {
      delete_my_data_event: (event) => {
        Object.defineProperty(event, "type", { get: boom });
        return boom();
      },
    },
  });
  const answer = await receiver.receive(await eventDelivery("DATA_DELETED"));
  expect(answer.outcome).toBe("handler_failed");
  expect(reports).toMatchObject([{ outcome: "handler_failed" }]);
});

it("a handler that settles late is reported to the same state twice", async () => {
  const ended: unknown[] = [];
  let finish = (): void => undefined;
  const receiver = alarmReceiver(() => new Promise<void>((resolve) => (finish = resolve)), {
    handlerTimeoutMs: 1,
    telemetry: {
      ...silent,
      begin: () => "state",
      end: (state, report) => ended.push([state, report.outcome, "late" in report]),
    },
  });
  await receiver.receive(await delivery());
  finish();
  await receiver.drain();
  expect(ended).toEqual([
    ["state", "handler_timeout", false],
    ["state", "handled", true],
  ]);
});

const boom = throwing(new Error("telemetry fails"));
it.each<[string, Partial<WebhookTelemetry>]>([
  ["throws in begin", { begin: boom }],
  ["throws in run, before the handler", { run: boom }],
  ["throws in run, after the handler", { run: (_state, _work, call) => (call(), boom()) }],
  ["throws in end", { end: boom }],
  ["never calls the handler", { run: () => undefined as never }],
  ["calls the handler twice", { run: (_state, _work, call) => (call(), call()) }],
  ["replaces the result", { run: (_state, _work, call) => (call(), never() as never) }],
])("telemetry that %s changes no answer, and each handler runs once", async (_, faulty) => {
  let runs = 0;
  const telemetry = { ...silent, ...faulty };
  const { receiver, lines } = observedAlarmReceiver(() => void (runs += 1), { telemetry });
  const answers = [
    await receiver.receive(await delivery({ id: "1" })),
    await receiver.receive(await delivery({ id: "2" })),
  ];
  expect(answers.map(({ outcome }) => outcome)).toEqual(["handled", "handled"]);
  expect(runs).toBe(2);
  const warnings = linesWith(lines, "the option telemetry has thrown");
  expect(warnings).toHaveLength(_.startsWith("throws") ? 1 : 0);
});

it.each([[{}], [{ begin: () => 1, run: () => 1 }], ["on"]])(
  "telemetry without its three methods is refused: %j",
  (telemetry) => {
    const options = { secret: TEST_SECRET, handlers: { new_alarm: () => 1 }, telemetry };
    expect(() => createWebhookReceiver(options as unknown as WebhookReceiverOptions)).toThrow(
      /telemetry must have the method/,
    );
  },
);
