import { expect, it } from "vitest";
import { alarmReceiver, observedAlarmReceiver } from "../support/alarm-receiver.js";
import { createCollector, linesWith } from "../support/collector.js";
import { alarmBody, delivery, NOW_MS, NOW_SECONDS } from "../support/deliveries.js";
import { rejects, throwing } from "../support/faults.js";
import { recordingReceiver } from "../support/recording-receiver.js";

const ID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";

/** A delivery whose alarm was created so many seconds before its timestamp. */
function lateDelivery(seconds: number, fields = {}, type = "new_alarm") {
  const created_at = new Date((NOW_SECONDS - seconds) * 1000).toISOString();
  const body = alarmBody({ created_at, ...fields });
  return delivery({ body, timestamp: NOW_SECONDS, type });
}

it("a refusal at what is probably the last attempt is one error line", async () => {
  const { receiver, lines, reports } = observedAlarmReceiver(rejects);
  await receiver.receive(await lateDelivery(21_693));
  const found = linesWith(lines, "last attempt refused");
  expect(found).toEqual([
    {
      level: "error",
      message:
        "identity-gateway-webhooks: last attempt refused: the gateway has probably tried this delivery 10 times and does not send it again.",
      details: { id: ID, type: "new_alarm", outcome: "handler_failed" },
    },
  ]);
  expect(reports).toMatchObject([{ lagMs: 21_693_000, attempt: 10 }]);
});

it("a handler that puts a getter that throws into its record changes no answer", async () => {
  const new_alarm = (record: object) => {
    const get = throwing(new Error("a getter fails"));
    Object.defineProperty(record, "created_at", { get });
    throw new Error("made up");
  };
  const { receiver, reports } = recordingReceiver({ handlers: { new_alarm } });
  expect((await receiver.receive(await lateDelivery(21_693))).outcome).toBe("handler_failed");
  expect(reports).toMatchObject([{ outcome: "handler_failed" }]);
});

it("a stale last attempt is one too: its lag does not depend on the receiver's clock", async () => {
  const { receiver, lines, reports } = observedAlarmReceiver(() => undefined, {
    now: () => NOW_MS + 3_600_000,
  });
  await receiver.receive(await lateDelivery(21_693));
  expect(linesWith(lines, "last attempt refused")).toMatchObject([
    { details: { outcome: "stale" } },
  ]);
  expect(reports).toMatchObject([{ outcome: "stale", attempt: 10 }]);
});

it.each<[string, Parameters<typeof lateDelivery>, object?]>([
  ["unrecognized", [21_693, { account_id: undefined, payload: {} }]],
  ["handler_failed", [21_693, { account_id: undefined }], { handlers: { unrecognized: rejects } }],
  ["type_mismatch", [21_693, {}, "delete_my_data_event"]],
])(
  "a last attempt without a decoded record that ends as %s is one too",
  async (outcome, late, options) => {
    const { receiver, lines, reports } = observedAlarmReceiver(() => undefined, options);
    await receiver.receive(await lateDelivery(...late));
    expect(linesWith(lines, "last attempt refused")).toMatchObject([{ details: { outcome } }]);
    expect(reports).toMatchObject([{ outcome, attempt: 10 }]);
    const codes = receiver.health().reasons.map(({ code }) => code);
    expect(codes).toEqual(["last_attempts_refused"]);
  },
);

it("a last attempt that is handled, and a refused earlier one, write no such line", async () => {
  const { options, lines } = createCollector();
  await alarmReceiver(() => undefined, options).receive(await lateDelivery(21_693));
  await alarmReceiver(rejects, options).receive(await lateDelivery(9_355));
  expect(linesWith(lines, "last attempt refused")).toEqual([]);
});

it("nothing unauthenticated writes such a line or has a lag", async () => {
  const { body } = await lateDelivery(21_693);
  const { receiver, lines, reports } = observedAlarmReceiver(() => undefined);
  await receiver.receive(await delivery({ body, secret: "another secret of 20" }));
  expect(linesWith(lines, "last attempt refused")).toEqual([]);
  expect(reports[0]).not.toHaveProperty("lagMs");
});

it("a stale body that is no JSON, or no record, has no lag", async () => {
  const { receiver, reports } = observedAlarmReceiver(() => undefined, {
    now: () => NOW_MS + 3_600_000,
  });
  for (const body of ["{", '"text"', "null", "{}"])
    await receiver.receive(await delivery({ body }));
  expect(reports.map(({ outcome }) => outcome)).toEqual(Array(4).fill("stale"));
  expect(reports.some((report) => "lagMs" in report)).toBe(false);
});
