import { describe, expect, test } from "vitest";
import type { DeliveryContext, UnrecognizedDelivery } from "../../src/index.js";
import { NOW_MS, alarm, delivery } from "../support/deliveries.js";
import { recordingReceiver } from "../support/recording-receiver.js";

/** The arguments that `handlers.unrecognized` receives for a body. */
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

describe("handlers.unrecognized", () => {
  test("handlers.unrecognized receives a body that is not JSON, with its issues", async () => {
    expect(await unrecognizedOf("new_alarm", "not json")).toEqual({
      type: "new_alarm",
      body: undefined,
      issues: [{ path: [], message: "expected JSON in UTF-8" }],
    });
  });

  test.each([
    ["5", "expected an object"],
    ["null", "expected an object"],
    ["[]", "expected alarm or event"],
    ['{"alarm":{},"event":{}}', "expected alarm or event, not both"],
  ])("handlers.unrecognized learns what was expected in place of %s", async (body, message) => {
    expect(await unrecognizedOf("new_alarm", body)).toMatchObject({
      body: JSON.parse(body) as unknown,
      issues: [{ path: [], message }],
    });
  });

  test("handlers.unrecognized receives the whole body of an unknown webhook type", async () => {
    const body = { report: { id: 12, tags: [1, "b"] } };
    expect(await unrecognizedOf("added_later", JSON.stringify(body))).toEqual({
      type: "added_later",
      body,
      issues: [{ path: [], message: "expected alarm or event" }],
    });
  });

  test("handlers.unrecognized receives an invalid record without conversion, with its issues", async () => {
    const body = { alarm: alarm({ id: "17", account_id: null }), extra: 1 };
    expect(await unrecognizedOf("new_alarm", JSON.stringify(body))).toEqual({
      type: "new_alarm",
      body,
      issues: [{ path: ["alarm", "account_id"], message: "expected an integer" }],
    });
  });

  test("handlers.unrecognized receives the context of the delivery", async () => {
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

test("without handlers.unrecognized, the log names the wrong field and says what to do", async () => {
  const { receive, lines } = recordingReceiver();
  await receive(await delivery({ body: JSON.stringify({ alarm: alarm({ account_id: null }) }) }));
  expect(lines.map(({ message }) => message)).toEqual([
    expect.stringMatching(/alarm\.account_id: expected an integer.*handlers\.unrecognized/),
  ]);
});

test("an unrecognized delivery is answered 503 until a deployment can handle it", async () => {
  const { receive, reports } = recordingReceiver();
  const request = await delivery({ body: "not json" });
  for (let attempt = 0; attempt < 3; attempt++) {
    expect(await receive(request)).toMatchObject({ status: 503, outcome: "unrecognized" });
  }
  expect(reports).toHaveLength(3);
});

test("the gateway sends a delivery again if handlers.unrecognized fails", async () => {
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
