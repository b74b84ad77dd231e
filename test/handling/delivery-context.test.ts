import { expect, it, vi } from "vitest";
import { memoryStore, type DeliveryContext } from "../../src/index.js";
import { alarmReceiver, heldRun } from "../support/alarm-receiver.js";
import { NOW_MS, NOW_SECONDS, alarm, delivery } from "../support/deliveries.js";
import { recordingReceiver } from "../support/recording-receiver.js";

it("the handler context contains id, type, timestamp, raw body, signal and takeover", async () => {
  let given: DeliveryContext | undefined;
  const receiver = alarmReceiver((context) => void (given = context));
  await receiver.receive(await delivery({ id: "some.id_1-2", timestamp: NOW_SECONDS - 7 }));
  expect(Object.keys(given ?? {}).sort()).toEqual([
    "id",
    "rawBody",
    "signal",
    "takeover",
    "timestamp",
    "type",
  ]);
  expect(given).toMatchObject({
    id: "some.id_1-2",
    type: "new_alarm",
    timestamp: new Date(NOW_MS - 7_000),
    takeover: false,
  });
  expect(given?.signal).toBeInstanceOf(AbortSignal);
  expect(given?.signal.aborted).toBe(false);
});

it.each(["string", "bytes"])("rawBody has the exact bytes of a body sent as %s", async (form) => {
  const text = `\uFEFF {"alarm" : ${JSON.stringify(alarm({ text: "Ålarm – \u{1F511}" }))}}\r\n\t `;
  const bytes = new TextEncoder().encode(text);
  const body = form === "string" ? text : bytes;
  let given: DeliveryContext | undefined;
  const receiver = alarmReceiver((context) => void (given = context));
  expect((await receiver.receive(await delivery({ body }))).outcome).toBe("handled");
  expect(given?.rawBody).toBeInstanceOf(Uint8Array);
  expect(Array.from(given?.rawBody ?? [])).toEqual(Array.from(bytes));
});

it("the handler context of an unrecognized delivery contains the type of its header", async () => {
  let given: DeliveryContext | undefined;
  const { receive } = recordingReceiver({
    handlers: { unrecognized: (_delivery, context) => void (given = context) },
  });
  const body = new Uint8Array([0xff, 0xfe, 0x00]);
  await receive(await delivery({ type: "monthly_report", body }));
  expect(given?.type).toBe("monthly_report");
  expect(given?.rawBody).toEqual(body);
});

it("the signal keeps its first reason if the handler times out and then loses its lease", async () => {
  vi.useFakeTimers();
  let skewMs = 0;
  const store = memoryStore({ now: () => performance.now() + skewMs });
  const { receiver, run } = await heldRun({ handlerTimeoutMs: 1_000, store });
  await vi.advanceTimersByTimeAsync(1_000);
  skewMs = 60_000;
  await vi.advanceTimersByTimeAsync(20_000);
  expect(run.context.signal.reason).toMatchObject({ name: "DeadlineError" });
  run.resolve();
  await receiver.drain();
});
