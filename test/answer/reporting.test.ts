import { expect, it, vi } from "vitest";
import type { OutcomeReport } from "../../src/index.js";
import { UnreadableBody } from "../../src/delivery/request.js";
import { observedAlarmReceiver } from "../support/alarm-receiver.js";
import { never } from "../support/deferred.js";
import { delivery } from "../support/deliveries.js";
import { throwing } from "../support/faults.js";
import { SCENES, collect } from "../support/outcome-scenes.js";
import { recordingReceiver, trustingReceiver } from "../support/recording-receiver.js";

const ID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";

it("onOutcome is called once for each request with exactly the documented fields", async () => {
  const { receiver, reports } = recordingReceiver();
  const request = await delivery();
  const { body } = request;
  await receiver.receive(request);
  await receiver.receive(request);
  expect(reports).toHaveLength(2);
  expect(reports[0]).toEqual({
    outcome: "handled",
    status: 200,
    bytes: Buffer.byteLength(body),
    durationMs: expect.any(Number) as number,
    id: ID,
    type: "new_alarm",
    secretIndex: 0,
  });
  expect(reports[1]).toEqual({
    ...reports[0],
    outcome: "duplicate",
    durationMs: expect.any(Number) as number,
  });
  expect(reports.every(({ durationMs }) => durationMs >= 0)).toBe(true);
});

it("onOutcome, the metrics and the health ask the server once whether the sender has hung up", async () => {
  const { receiver, reports } = recordingReceiver();
  const isDisconnected = vi.fn(() => true);
  await receiver.receive({ ...(await delivery()), isDisconnected });
  expect(reports[0]).toMatchObject({ disconnected: true });
  expect(receiver.health().ratios.disconnects).toBe(1);
  expect(isDisconnected).toHaveBeenCalledTimes(1);
});

it("onOutcome receives the size in bytes, not in characters", async () => {
  const { receive, reports } = recordingReceiver();
  await receive(await delivery({ body: '"Å"' }));
  expect(reports[0]?.bytes).toBe(4);
});

it("onOutcome receives the duration of the request", async () => {
  vi.useFakeTimers();
  // The clock that is not real starts at 0, and that of a process that runs does not.
  vi.advanceTimersByTime(60_000);
  const { receiver, reports } = observedAlarmReceiver(async () => {
    await vi.advanceTimersByTimeAsync(1_234);
  });
  await receiver.receive(await delivery());
  expect(reports[0]?.durationMs).toBe(1_234);
});

it.each([
  "method_not_allowed",
  "malformed",
  "unsigned",
  "signature_mismatch",
  "body_too_large",
  "body_timeout",
  "body_consumed",
] as const)("onOutcome gets no id, type or secretIndex if the outcome is %s", async (outcome) => {
  const { reports } = await collect(SCENES[outcome]);
  expect(reports).toMatchObject([{ outcome }]);
  const facts = ["bytes", "durationMs", "outcome", "status"];
  expect(Object.keys(reports[0] ?? {}).sort()).toEqual(facts);
});

it("onOutcome receives the number of bytes that arrived of an unreadable body", async () => {
  const { receiver, reports } = recordingReceiver({ maxBodyBytes: 100 });
  await receiver.receive({ headers: {}, body: new UnreadableBody("body_timeout", 7) });
  await receiver.receive({ headers: {}, body: new Uint8Array(101) });
  await receiver.receive({ headers: {}, body: "Å".repeat(51) });
  expect(reports.map(({ bytes }) => bytes)).toEqual([7, 101, 102]);
});

it.each([
  ["stale", "new_alarm"],
  ["type_mismatch", "delete_my_data_event"],
  ["unrecognized", "monthly_report"],
  ["unhandled", "delete_my_data_event"],
] as const)(
  "onOutcome receives id, type and secretIndex if the outcome is %s",
  async (outcome, type) => {
    const { reports } = await collect(SCENES[outcome]);
    expect(reports.at(-1)).toMatchObject({ outcome, id: ID, type, secretIndex: 1 });
  },
);

it("onOutcome receives no secretIndex if unsigned deliveries are accepted", async () => {
  const { receiver, reports } = trustingReceiver();
  await receiver.receive(await delivery());
  expect(reports[0]).toMatchObject({ outcome: "handled", id: ID, type: "new_alarm" });
  expect(reports[0]?.secretIndex).toBeUndefined();
});

it.each<[string, (report: OutcomeReport) => unknown]>([
  ["throws", throwing(new Error("metrics are down"))],
  ["rejects", () => Promise.reject(new Error("metrics are down"))],
  ["never resolves", never],
  ["returns a broken thenable", () => ({ then: throwing(new Error("metrics are down")) })],
])("an onOutcome that %s has no effect", async (_how, onOutcome) => {
  const { receiver } = recordingReceiver({ onOutcome });
  const request = await delivery();
  expect(await receiver.receive(request)).toMatchObject({ status: 200, outcome: "handled" });
  expect(await receiver.receive(request)).toMatchObject({ status: 200, outcome: "duplicate" });
  expect(await receiver.receive({ headers: {}, body: "" })).toMatchObject({ status: 409 });
  await receiver.drain();
});
