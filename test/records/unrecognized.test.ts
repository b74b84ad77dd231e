import { describe, expect, test } from "vitest";
import type { DeliveryContext, UnrecognizedDelivery } from "../../src/index.js";
import { NOW_MS, alarm, delivery } from "../support/deliveries.js";
import { recordingReceiver } from "../support/recording-receiver.js";

/** What `handlers.unrecognized` is given for a body. */
async function unrecognizedOf(type: string, body: string) {
  const taken: UnrecognizedDelivery[] = [];
  const { receive } = recordingReceiver({
    handlers: { unrecognized: (unrecognized) => taken.push(unrecognized) },
  });
  const answer = await receive(await delivery({ type, body }));
  expect(answer).toMatchObject({ status: 200, outcome: "handled" });
  expect(taken).toHaveLength(1);
  return taken[0];
}

describe("handlers.unrecognized is given type, body and issues", () => {
  test("of a body that is not JSON", async () => {
    expect(await unrecognizedOf("new_alarm", "not json")).toEqual({
      type: "new_alarm",
      body: undefined,
      issues: [{ path: [], message: expect.stringContaining("JSON") as string }],
    });
  });

  test("of an unknown webhook type, whole", async () => {
    const body = { report: { id: 12, tags: [1, "b"] } };
    expect(await unrecognizedOf("added_later", JSON.stringify(body))).toEqual({
      type: "added_later",
      body,
      issues: [{ path: [], message: "expected alarm or event" }],
    });
  });

  test("of a record that is not as documented, unconverted", async () => {
    const body = { alarm: alarm({ id: "17", account_id: null }), extra: 1 };
    expect(await unrecognizedOf("new_alarm", JSON.stringify(body))).toEqual({
      type: "new_alarm",
      body,
      issues: [{ path: ["alarm", "account_id"], message: "expected an integer" }],
    });
  });

  test("and the context of the delivery", async () => {
    const contexts: DeliveryContext[] = [];
    const { receive } = recordingReceiver({
      handlers: { unrecognized: (_, context) => contexts.push(context) },
    });
    await receive(await delivery({ id: "d-1", type: "added_later", body: "not json" }));
    expect(contexts).toMatchObject([
      { id: "d-1", type: "added_later", timestamp: new Date(NOW_MS), takeover: false },
    ]);
    expect(contexts[0]?.rawBody).toEqual(new TextEncoder().encode("not json"));
  });
});

test("without handlers.unrecognized the log says where the shape is off, and what to do", async () => {
  const lines: unknown[] = [];
  const logger = { warn: () => 0, error: (line: unknown) => lines.push(line) };
  const { receive } = recordingReceiver({ logger });
  await receive(await delivery({ body: JSON.stringify({ alarm: alarm({ account_id: null }) }) }));
  expect(lines).toEqual([
    expect.stringMatching(/alarm\.account_id: expected an integer.*handlers\.unrecognized/),
  ]);
});

test("a delivery that nobody took is asked for again, until a deploy can take it", async () => {
  const { receive, reports } = recordingReceiver();
  const request = await delivery({ body: "not json" });
  for (let attempt = 0; attempt < 3; attempt++) {
    expect(await receive(request)).toMatchObject({ status: 503, outcome: "unrecognized" });
  }
  expect(reports).toHaveLength(3);
});

test("handlers.unrecognized that fails leaves the delivery to be sent again", async () => {
  let isBroken = true;
  const { receive } = recordingReceiver({
    handlers: {
      unrecognized: () => {
        if (isBroken) throw new Error("no table for this yet");
      },
    },
  });
  const request = await delivery({ body: "not json" });
  expect((await receive(request)).outcome).toBe("handler_failed");
  isBroken = false;
  expect((await receive(request)).outcome).toBe("handled");
  expect((await receive(request)).outcome).toBe("duplicate");
});
