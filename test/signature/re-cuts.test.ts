import { describe, expect, test } from "vitest";
import { verifySignature } from "../../src/index.js";
import { GOLDEN, goldenRequest } from "./golden-vector.js";
import { rawSignature } from "../support/raw-delivery.js";
import { recordingReceiver } from "../support/recording-receiver.js";

const SIGNED = `v1:${GOLDEN.timestamp}:${GOLDEN.id}:${GOLDEN.body}`;
const PREFIX = "v1:";

/** Every way to read the signed string of the golden delivery as a timestamp, an id and a body. */
const RE_CUTS = colonPairs(SIGNED).map(([first, second]) => ({
  timestamp: SIGNED.slice(PREFIX.length, first),
  id: SIGNED.slice(first + 1, second),
  body: SIGNED.slice(second + 1),
}));

function colonPairs(text: string): [number, number][] {
  const colons = [...text.matchAll(/:/g)]
    .map(({ index }) => index)
    .filter((index) => index >= PREFIX.length);
  return colons.flatMap((first, at) =>
    colons.slice(at + 1).map((second): [number, number] => [first, second]),
  );
}

function isGenuine({ timestamp, id }: { timestamp: string; id: string }): boolean {
  return timestamp === GOLDEN.timestamp && id === GOLDEN.id;
}

describe("one captured delivery, cut anew at its colons", () => {
  test("gives 350 other deliveries under the same signature", () => {
    expect(RE_CUTS).toHaveLength(351);
    expect(RE_CUTS.filter(isGenuine)).toHaveLength(1);
    // They are no straw men: each is what the gateway would have signed for these headers and bytes.
    expect(new Set(RE_CUTS.map((cut) => rawSignature(cut)))).toEqual(new Set([GOLDEN.signature]));
  });

  test("runs no handler but for the genuine cut", async () => {
    const { receive, handled, reports } = recordingReceiver();
    for (const cut of RE_CUTS) {
      const { status, outcome } = await receive(goldenRequest(cut));
      const expected = isGenuine(cut)
        ? { status: 200, outcome: "handled" }
        : { status: 409, outcome: "malformed" };
      expect({ status, outcome }, `${cut.timestamp} ${cut.id}`).toEqual(expected);
    }
    expect(handled).toHaveLength(1);
    expect(reports).toHaveLength(351);
  });

  test("runs none whenever it is sent, also where the clock is as wrong as the cut", async () => {
    for (const now of [0, Number.NaN, Number.POSITIVE_INFINITY]) {
      const { receive, handled } = recordingReceiver({ now: () => now });
      for (const cut of RE_CUTS) expect((await receive(goldenRequest(cut))).status).toBe(409);
      expect(handled).toEqual([]);
    }
  });

  test("verifies for the genuine cut alone", async () => {
    const verified = [];
    for (const cut of RE_CUTS) {
      const { headers, body } = goldenRequest(cut);
      if (await verifySignature({ secret: GOLDEN.secret, headers, body })) verified.push(cut);
    }
    expect(verified).toEqual([{ timestamp: GOLDEN.timestamp, id: GOLDEN.id, body: GOLDEN.body }]);
  });

  test("cannot be cut where the version ends, which the receiver writes itself", async () => {
    const { receive, handled } = recordingReceiver();
    const moved = goldenRequest({
      timestamp: "",
      id: GOLDEN.timestamp,
      body: `${GOLDEN.id}:${GOLDEN.body}`,
    });
    expect((await receive(moved)).outcome).toBe("malformed");
    expect((await receive(goldenRequest({ timestamp: `v1:${GOLDEN.timestamp}` }))).outcome).toBe(
      "malformed",
    );
    expect(handled).toEqual([]);
  });
});

test("a delivery may have colons in its body, and is then cut at its headers alone", async () => {
  const { receive, handled } = recordingReceiver();
  expect((await receive(goldenRequest())).outcome).toBe("handled");
  expect(handled).toMatchObject([{ payload: '{"k":"a:b"}' }]);
});
