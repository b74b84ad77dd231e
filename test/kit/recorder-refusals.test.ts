import { beforeEach, describe, expect, test, vi } from "vitest";
import { ConfigurationError, type AuthenticDelivery } from "../../src/index.js";
import { type FixtureRefusal, refusalSentence } from "../../kit/recorder/fixture-refusal.js";
import { recordFixtures } from "../../kit/recorder/record-fixtures.js";
import { NOW_MS, alarm } from "../support/deliveries.js";
import { partnersDelivery, recordedReceiver } from "../support/testing/recorded-receiver.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const parent = temporaryFolder();
let directory: string;

beforeEach(() => {
  directory = parent.at("recorded");
});

describe("refusals of the recorder", () => {
  test("the recorder warns once per reason on the console by default, and quotes nothing from the body", async () => {
    const warn = vi.spyOn(console, "warn").mockReturnValue();
    const { recorder, receiver } = recordedReceiver({
      directory: parent.write("file", ""),
      onRefused: undefined,
    });
    const body = JSON.stringify({ alarm: alarm({ text: "anna@exempel.se" }) });
    await receiver.receive(await partnersDelivery({ id: "a", body }));
    await receiver.receive(await partnersDelivery({ id: "b", body }));
    await recorder.flush();
    expect(warn).toHaveBeenCalledTimes(1);
    expect(String(warn.mock.calls)).not.toContain("exempel");
    expect(warn.mock.calls[0]?.[0]).toMatch(
      /could not be written: EEXIST\. Each reason is written once/,
    );
  });

  test("a folder that cannot be written to does not change the receiver's answer", async () => {
    const { recorder, receiver, refusals } = recordedReceiver({
      directory: parent.write("file", ""),
      onRefused: (refusal) => {
        refusals.push(refusal);
        throw new Error("the partner's hook");
      },
    });
    expect((await receiver.receive(await partnersDelivery())).outcome).toBe("handled");
    await recorder.flush();
    expect(refusals).toMatchObject([
      { type: "new_alarm", reason: "write_failed", error: { code: "EEXIST" } },
    ]);
  });

  test("the recorder refuses deliveries while its queue is full and accepts new ones afterwards", async () => {
    const { recorder, refusals } = recordedReceiver({ directory: parent.write("file", "") });
    const request = await partnersDelivery({ body: new Uint8Array(1_048_576) });
    const observed: AuthenticDelivery = {
      request,
      id: "a",
      type: "new_alarm",
      receivedAt: new Date(NOW_MS),
      outcome: "unrecognized",
      status: 503,
    };
    const countOf = (reason: string) => refusals.filter((refusal) => refusal.reason === reason);
    for (let sent = 0; sent < 70; sent++) recorder(observed);
    expect(countOf("overloaded")).toHaveLength(6);
    await recorder.flush();
    recorder(observed);
    await recorder.flush();
    expect(countOf("overloaded")).toHaveLength(6);
    expect(countOf("write_failed")).toHaveLength(65);
  });

  test.each([
    ["an invalid date", { receivedAt: new Date(Number.NaN) }],
    ["a date after the year 9999", { receivedAt: new Date(8_640_000_000_000_000) }],
    ["headers that were removed", { request: { headers: {}, body: "{}" } }],
    [
      "headers that throw",
      {
        request: {
          headers: {
            get: (): string => {
              throw new Error("Anna");
            },
          },
          body: "{}",
        },
      },
    ],
  ])("the recorder refuses %s and does not throw", async (_, change) => {
    const { recorder, refusals } = recordedReceiver({ directory });
    const base = {
      request: await partnersDelivery(),
      id: "a",
      type: "of_Anna",
      receivedAt: new Date(NOW_MS),
    };
    recorder({ ...base, outcome: "handled", status: 200, ...change });
    await recorder.flush();
    expect(refusals).toEqual([{ type: "unknown_type", reason: "unreadable" }]);
  });

  test.each([
    [{}],
    [{ directory: "" }],
    [{ directory: "a", folder: "b" }],
    [{ directory: "a", onRefused: "log" }],
    [{ directory: "a", onRecorded: 1 }],
    [{ directory: "a", secret: "" }],
    [{ directory: "a", redact: { allow: [] } }],
    [null],
  ])("recordFixtures refuses the options %j", (options) => {
    const given = options as unknown as Parameters<typeof recordFixtures>[0];
    expect(() => recordFixtures(given)).toThrow(ConfigurationError);
  });
});

test.each<[FixtureRefusal, string]>([
  [
    { type: "new_alarm", reason: "write_failed", error: { code: "ENOSPC" } },
    "its file could not be written: ENOSPC",
  ],
  [
    { type: "new_alarm", reason: "write_failed", error: null },
    "its file could not be written: unknown error",
  ],
  [{ type: "new_alarm", reason: "overloaded" }, "too many deliveries wait to be written"],
  [{ type: "new_alarm", reason: "unreadable" }, "its headers or its time cannot be read"],
  [{ type: "new_alarm", reason: "internal_error" }, "the recorder failed"],
])("refusalSentence describes each reason: %#", (refusal, sentence) => {
  expect(refusalSentence(refusal)).toBe(sentence);
});
