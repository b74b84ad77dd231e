import { beforeEach, expect, it, vi } from "vitest";
import { fetchHandler } from "../../adapters/fetch.js";
import { observedAlarmReceiver } from "../support/alarm-receiver.js";
import { linesWith } from "../support/collector.js";
import { never } from "../support/deferred.js";
import { delivery } from "../support/deliveries.js";

beforeEach(() => {
  vi.useFakeTimers();
  return () => vi.unstubAllGlobals();
});

const URL = "https://localhost/webhooks/gateway";

/** The lines about deliveries whose handlers run on after the answer. */
async function lateOnWorkers(contextOf: () => unknown) {
  vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" });
  const { receiver, lines } = observedAlarmReceiver(() => never(), { handlerTimeoutMs: 1_000 });
  const handler = fetchHandler(receiver);
  for (const id of ["first", "second"]) {
    const { headers, body } = await delivery({ id });
    const request = new Request(URL, { method: "POST", headers, body });
    const answer = handler(request, {}, contextOf());
    await vi.advanceTimersByTimeAsync(1_100);
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
  const { headers } = await delivery();
  // As @sveltejs/kit makes it.
  const error = Object.assign(new Error("request body size exceeded BODY_SIZE_LIMIT of 9"), {
    status: 413,
    text: "Payload Too Large",
  });
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new Uint8Array(9));
    },
    pull(controller) {
      controller.error(error);
    },
  });
  const request = new Request(URL, { method: "POST", headers, body, duplex: "half" });
  expect((await fetchHandler(receiver)(request)).status).toBe(409);
  expect(reports).toMatchObject([{ outcome: "body_too_large", bytes: 9 }]);
  expect(linesWith(lines, "the host's limit (BODY_SIZE_LIMIT)")).toHaveLength(1);
});
