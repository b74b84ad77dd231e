import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { expect, it } from "vitest";
import { fetchHandler } from "../../adapters/fetch.js";
import { createBodyReceiver, streamingRequest } from "../support/adapters/body-receiver.js";
import { ODD_BODY } from "../support/fuzz/odd-delivery.js";

it("a body arrives complete in pieces of any size", async () => {
  const bytes = new TextEncoder().encode(ODD_BODY);
  const cuts = fc.uniqueArray(fc.nat(bytes.length), { maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(cuts, async (places) => {
      const { receiver, bodies } = createBodyReceiver();
      const ends = [...places.sort((a, b) => a - b), bytes.length];
      const request = await streamingRequest({
        start(controller) {
          let from = 0;
          for (const end of ends) {
            controller.enqueue(bytes.slice(from, end));
            from = end;
          }
          controller.close();
        },
      });
      expect((await fetchHandler(receiver)(request)).status).toBe(200);
      expect(bodies).toEqual([ODD_BODY]);
    }),
    { numRuns: 100, seed: 1 },
  );
});

it("an upload byte by byte takes little more memory than its bytes", async () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const usedBytes = () => {
    collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const COUNT = 200_000;
  const { receiver } = createBodyReceiver();
  let sent = 0;
  let allSent: () => void = () => undefined;
  const waiting = new Promise<void>((resolve) => (allSent = resolve));
  let end: () => void = () => undefined;
  const request = await streamingRequest({
    pull(controller) {
      sent += 1;
      if (sent <= COUNT) {
        controller.enqueue(new Uint8Array(1));
        return;
      }
      end = () => controller.close();
      allSent();
    },
  });
  const before = usedBytes();
  const answer = fetchHandler(receiver)(request);
  await waiting;
  expect(usedBytes() - before).toBeLessThan(10 * COUNT);
  end();
  expect((await answer).status).toBe(409);
});
