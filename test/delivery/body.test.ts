import { runInNewContext } from "node:vm";
import { expect, test, vi } from "vitest";
import { UnreadableBody } from "../../src/delivery/request.js";
import type { WebhookRequest } from "../../src/index.js";
import { alarm, alarmBody, delivery } from "../support/deliveries.js";
import { rawDelivery } from "../support/raw-delivery.js";
import { recordingReceiver } from "../support/recording-receiver.js";

type Body = WebhookRequest["body"];

const TEXT = alarmBody({ text: "Ålarm – 🔐" });
const BYTES = new TextEncoder().encode(TEXT);

test.each<[string, () => unknown]>([
  ["a text", () => TEXT],
  ["a Buffer", () => Buffer.from(TEXT)],
  ["a view into a larger buffer", () => Uint8Array.from([0, ...BYTES, 0]).subarray(1, -1)],
  ["bytes of shared memory", () => sharedBytes()],
  [
    "bytes of another realm",
    () => runInNewContext("Uint8Array.from(bytes)", { bytes: [...BYTES] }) as unknown,
  ],
])("the body may be %s", async (_, body) => {
  const { receive, handled, reports } = recordingReceiver();
  const request = await delivery({ body: TEXT });
  expect((await receive({ ...request, body: body() as Body })).outcome).toBe("handled");
  expect(handled).toEqual([alarm({ text: "Ålarm – 🔐" })]);
  expect(reports).toMatchObject([{ bytes: BYTES.length }]);
});

function sharedBytes(): Uint8Array {
  const shared = new Uint8Array(new SharedArrayBuffer(BYTES.length));
  shared.set(BYTES);
  return shared;
}

test.each(["", undefined, null, new Uint8Array(0)])(
  "the body may be empty, as %j, and is authentic if it is signed",
  async (body) => {
    const { receive, reports } = recordingReceiver();
    const answer = await receive({ ...rawDelivery({ body: "" }), body: body as Body });
    expect(answer.outcome).toBe("unrecognized");
    expect(reports).toMatchObject([{ bytes: 0, secretIndex: 0 }]);
  },
);

test.each<[string, unknown]>([
  ["an object", { alarm: alarm() }],
  ["a list", []],
  ["an ArrayBuffer", BYTES.buffer],
  ["a DataView", new DataView(BYTES.buffer)],
  ["a Blob", new Blob([TEXT])],
  ["a stream", new Blob([TEXT]).stream()],
  ["a String object", new String(TEXT)],
  ["an object with an unknown reason", { unreadable: "gone", bytes: 1 }],
])(
  "a body that a parser has consumed is refused, whatever the parser made of it: %s",
  async (_, body) => {
    const { receive, handled, lines } = recordingReceiver();
    const answer = await receive({ ...(await delivery()), body: body as Body });
    expect(answer).toMatchObject({ status: 503, outcome: "body_consumed" });
    expect(handled).toEqual([]);
    expect(lines).toMatchObject([
      { level: "error", message: expect.stringContaining("pass the raw body") as string },
    ]);
  },
);

test("a body that a parser has consumed is refused if the sender imitates an adapter's object", async () => {
  const { receive, reports, lines } = recordingReceiver();
  const sent = '{"unreadable":"body_timeout","bytes":"canary","advice":"canary"}';
  const answer = await receive({ ...(await delivery()), body: JSON.parse(sent) as Body });
  expect(answer).toMatchObject({ status: 503, outcome: "body_consumed" });
  expect(JSON.stringify([lines, reports])).not.toContain("canary");
});

test.each<[string, number, Body]>([
  ["a text of one-byte characters", 10, "x".repeat(11)],
  ["a text that is too long only in bytes", 10, "å".repeat(6)],
  ["bytes", 10, new Uint8Array(11)],
])(
  "maxBodyBytes refuses %s above the limit before the signature is checked",
  async (_, maxBodyBytes, body) => {
    const { receive, handled } = recordingReceiver({ maxBodyBytes, secret: () => [] });
    const answer = await receive({ headers: {}, body });
    expect(answer).toMatchObject({ status: 409, outcome: "body_too_large" });
    expect(handled).toEqual([]);
  },
);

test.each<[string, number, string]>([
  ["a text of one-byte characters", 10, "x".repeat(10)],
  ["a text of two-byte characters", 10, "å".repeat(5)],
])("maxBodyBytes accepts %s of exactly the limit", async (_, maxBodyBytes, body) => {
  const { receive } = recordingReceiver({ maxBodyBytes });
  expect((await receive(rawDelivery({ body }))).outcome).toBe("unrecognized");
});

test("an UnreadableBody of a second copy of the package keeps its reason", async () => {
  vi.resetModules();
  const { UnreadableBody: OtherUnreadableBody } = await import("../../src/delivery/request.js");
  expect(OtherUnreadableBody).not.toBe(UnreadableBody);
  const { receive } = recordingReceiver();
  const body = new OtherUnreadableBody("body_too_large", 2_000_000);
  expect(await receive({ headers: {}, body })).toMatchObject({
    status: 409,
    outcome: "body_too_large",
  });
  expect(await receive({ headers: {}, body: {} as Body })).toMatchObject({
    outcome: "body_consumed",
  });
});
