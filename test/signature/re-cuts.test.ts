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

describe("one captured delivery, split again at its colons", () => {
  test("one captured delivery can be split at its colons into 350 other deliveries with the same signature", () => {
    expect(RE_CUTS).toHaveLength(351);
    expect(RE_CUTS.filter(isGenuine)).toHaveLength(1);
    // They are realistic: the gateway would have signed the same string for each of these headers
    // and bytes.
    expect(new Set(RE_CUTS.map((cut) => rawSignature(cut)))).toEqual(new Set([GOLDEN.signature]));
  });

  test("of all splits of a captured delivery, only the genuine one runs a handler", async () => {
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

  test("a false split of a captured delivery runs no handler at any time, even if the clock is as wrong as the split", async () => {
    for (const now of [0, Number.NaN, Number.POSITIVE_INFINITY]) {
      const { receive, handled } = recordingReceiver({ now: () => now });
      for (const cut of RE_CUTS) expect((await receive(goldenRequest(cut))).status).toBe(409);
      expect(handled).toEqual([]);
    }
  });

  test("of all splits of a captured delivery, only the genuine one verifies", async () => {
    const verified = [];
    for (const cut of RE_CUTS) {
      const { headers, body } = goldenRequest(cut);
      if (await verifySignature({ secret: GOLDEN.secret, headers, body })) verified.push(cut);
    }
    expect(verified).toEqual([{ timestamp: GOLDEN.timestamp, id: GOLDEN.id, body: GOLDEN.body }]);
  });

  test("a captured delivery cannot be split at the end of the version, which the receiver writes itself", async () => {
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

test("a delivery may have colons in its body, and only its headers set the split", async () => {
  const { receive, handled } = recordingReceiver();
  expect((await receive(goldenRequest())).outcome).toBe("handled");
  expect(handled).toMatchObject([{ payload: '{"k":"a:b"}' }]);
});
