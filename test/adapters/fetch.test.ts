import { Readable } from "node:stream";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { expect, it, vi } from "vitest";
import { fetchHandler } from "../../adapters/fetch.js";
import { signed } from "../support/adapters/adapter-exchange.js";
import { createBodyReceiver, streamingRequest } from "../support/adapters/body-receiver.js";
import { requestOf } from "../support/adapters/target-kinds.js";
import { observedAlarmReceiver } from "../support/alarm-receiver.js";
import { linesWith } from "../support/collector.js";
import { never } from "../support/deferred.js";
import { pass } from "../support/fake-time.js";
import { ODD_BODY, oddDelivery } from "../support/odd-delivery.js";

const ways: readonly (readonly [string, (request: Request) => unknown])[] = [
  ["read", (request) => request.text()],
  ["locked by a reader", (request) => request.body?.getReader()],
  ["being piped", (request) => void request.body?.pipeTo(new WritableStream())],
];

it.each(ways)("fetchHandler answers 503 at once for a request that was %s", async (_how, use) => {
  const { receiver, bodies, lines } = createBodyReceiver();
  const request = requestOf(await oddDelivery());
  await use(request);
  const response = await fetchHandler(receiver)(request);
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({ error: { code: "BODY_CONSUMED" } });
  expect(bodies).toEqual([]);
  expect(lines[0]?.message).toContain("Call fetchHandler with a request that nothing has read");
});

it("fetchHandler answers 503 for a body that is no stream of the Fetch API", async () => {
  const { receiver, lines } = createBodyReceiver();
  const request = requestOf(await oddDelivery());
  Object.defineProperty(request, "body", { value: Readable.from([ODD_BODY]) });
  expect((await fetchHandler(receiver)(request)).status).toBe(503);
  expect(lines[0]?.message).toContain("pass a Request of the Fetch API");
});

it("fetchHandler answers an endless upload at once, and gives it up two seconds later", async () => {
  vi.useFakeTimers();
  const { receiver } = createBodyReceiver();
  const cancel = vi.fn();
  let pulled = 0;
  const request = await streamingRequest({
    pull: async (controller) => {
      pulled += 1;
      await new Promise((resolve) => setTimeout(resolve, 10));
      controller.enqueue(new Uint8Array(1_048_576));
    },
    cancel,
  });
  const answering = fetchHandler(receiver)(request);
  await pass(100);
  const reader = (await answering).body?.getReader();
  const first = await reader?.read();
  expect(new TextDecoder().decode(first?.value as Uint8Array)).toContain("BODY_TOO_LARGE");
  const pulledBefore = pulled;
  const end = reader?.read();
  await pass(1_800);
  expect(pulled).toBeGreaterThan(pulledBefore);
  expect(cancel).not.toHaveBeenCalled();
  await pass(200);
  expect(cancel).toHaveBeenCalledOnce();
  expect(await end).toMatchObject({ done: true });
});

it("fetchHandler gives up an upload that drips a byte each millisecond when its time is over", async () => {
  vi.useFakeTimers();
  const { receiver, outcomes } = createBodyReceiver();
  const request = await streamingRequest({
    pull: async (controller) => {
      await new Promise((resolve) => setTimeout(resolve, 1));
      controller.enqueue(new Uint8Array(1));
    },
  });
  const answering = fetchHandler(receiver, { uploadTimeoutMs: 50 })(request);
  await pass(100);
  expect(outcomes()).toEqual(["body_timeout"]);
  expect((await answering).status).toBe(408);
});

it("fetchHandler gives up an endless upload whose request was cloned before", async () => {
  vi.useFakeTimers();
  const { receiver } = createBodyReceiver({ maxBodyBytes: 10 });
  const request = await streamingRequest({
    pull: async (controller) => {
      await new Promise((resolve) => setTimeout(resolve, 10));
      controller.enqueue(new Uint8Array(100));
    },
  });
  request.clone();
  const answering = fetchHandler(receiver)(request);
  await pass(100);
  const text = (await answering).text();
  await pass(2_000);
  expect(await text).toContain("BODY_TOO_LARGE");
});

it("fetchHandler survives an answer that is not read", async () => {
  const { receiver } = createBodyReceiver({ maxBodyBytes: 10 });
  const response = await fetchHandler(receiver)(requestOf(await oddDelivery()));
  await expect(response.body?.cancel()).resolves.toBeUndefined();
});

/** The lines about deliveries whose handlers run on after the answer. */
async function lateOnWorkers(contextOf: () => unknown) {
  vi.useFakeTimers();
  vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" });
  const { receiver, lines } = observedAlarmReceiver(() => never(), { handlerTimeoutMs: 1_000 });
  const handler = fetchHandler(receiver);
  for (const id of ["first", "second"]) {
    const answer = handler(requestOf(await signed({ id })), {}, contextOf());
    await pass(1_100);
    expect((await answer).status).toBe(503);
  }
  return lines;
}

it("on Workers without ctx, the line says to pass it on, and not that the handler keeps running", async () => {
  const lines = await lateOnWorkers(() => undefined);
  expect(linesWith(lines, "cut it off: pass on (request, env, ctx)")).toHaveLength(2);
  expect(linesWith(lines, "keeps running")).toEqual([]);
});

it("on Workers with ctx, the line says that the handler keeps running", async () => {
  const lines = await lateOnWorkers(() => ({ waitUntil: () => undefined }));
  expect(linesWith(lines, "pass on (request, env, ctx)")).toEqual([]);
  expect(
    linesWith(lines, "handler_timeout: The handler did not finish in time. It keeps"),
  ).toHaveLength(2);
});

it("a body that SvelteKit cuts off at its own limit is logged and answered 409", async () => {
  const { receiver, lines, reports } = observedAlarmReceiver(() => undefined);
  // As @sveltejs/kit makes it.
  const error = Object.assign(new Error("request body size exceeded BODY_SIZE_LIMIT of 9"), {
    status: 413,
    text: "Payload Too Large",
  });
  const request = await streamingRequest({
    start: (controller) => controller.enqueue(new Uint8Array(9)),
    pull: (controller) => controller.error(error),
  });
  expect((await fetchHandler(receiver)(request)).status).toBe(409);
  expect(reports).toMatchObject([{ outcome: "body_too_large", bytes: 9 }]);
  expect(linesWith(lines, "the host's limit (BODY_SIZE_LIMIT)")).toHaveLength(1);
});

it("a body arrives complete in pieces of any size, empty ones too", async () => {
  const bytes = new TextEncoder().encode(ODD_BODY);
  const cuts = fc.array(fc.nat(bytes.length), { maxLength: 30 });
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
