import { Readable } from "node:stream";
import { describe, expect, it, vi } from "vitest";
import { fetchHandler } from "../../adapters/fetch.js";
import { requestOf } from "../support/adapters/target-kinds.js";
import { createBodyReceiver, streamingRequest } from "../support/adapters/body-receiver.js";
import { ODD_BODY, oddDelivery } from "../support/fuzz/odd-delivery.js";

describe("Fetch", () => {
  const ways: readonly (readonly [string, (request: Request) => unknown])[] = [
    ["read", (request) => request.text()],
    ["parsed", (request) => request.json()],
    ["locked by a reader", (request) => request.body?.getReader()],
    ["being piped", (request) => void request.body?.pipeTo(new WritableStream())],
  ];

  it.each(ways)("answers 503 at once for a request that was %s", async (_how, use) => {
    const { receiver, bodies, lines } = createBodyReceiver();
    const request = requestOf(await oddDelivery());
    await use(request);
    const response = await fetchHandler(receiver)(request);
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ error: { code: "BODY_CONSUMED" } });
    expect(bodies).toEqual([]);
    expect(lines[0]?.message).toContain("Call fetchHandler with a request that nothing has read");
  });

  it("answers 503 for a request whose body is no stream of the Fetch API, as node-fetch has it", async () => {
    const { receiver, lines } = createBodyReceiver();
    const request = requestOf(await oddDelivery());
    Object.defineProperty(request, "body", { value: Readable.from([ODD_BODY]) });
    expect((await fetchHandler(receiver)(request)).status).toBe(503);
    expect(lines[0]?.message).toContain("pass a Request of the Fetch API");
  });

  it("leaves an earlier clone of the request readable", async () => {
    const { receiver, bodies } = createBodyReceiver();
    const request = requestOf(await oddDelivery());
    const copy = request.clone();
    expect((await fetchHandler(receiver)(request)).status).toBe(200);
    expect(bodies).toEqual([ODD_BODY]);
    expect(await copy.text()).toBe(ODD_BODY);
  });

  it("joins the pieces of a stream, empty ones too", async () => {
    const { receiver, bodies } = createBodyReceiver();
    const { body = new Uint8Array(0) } = await oddDelivery();
    const pieces = [body.subarray(0, 1), body.subarray(1, 1), body.subarray(1)];
    const request = await streamingRequest({
      pull: (controller) => {
        const piece = pieces.shift();
        if (piece === undefined) controller.close();
        else controller.enqueue(piece);
      },
    });
    expect((await fetchHandler(receiver)(request)).status).toBe(200);
    expect(bodies).toEqual([ODD_BODY]);
  });

  it("runs no handler when the sender goes away", async () => {
    const { receiver, outcomes } = createBodyReceiver();
    const request = await streamingRequest({
      pull: (controller) => controller.error(new Error("reset")),
    });
    const response = await fetchHandler(receiver)(request);
    expect(response.status).toBe(408);
    expect(await response.text()).toBe("");
    expect(outcomes()).toEqual([]);
  });

  it("answers 408 when the upload stalls", async () => {
    vi.useFakeTimers();
    const { receiver, outcomes } = createBodyReceiver();
    const request = await streamingRequest({
      start: (controller) => controller.enqueue(Uint8Array.of(0x7b)),
    });
    const answering = fetchHandler(receiver)(request);
    await vi.advanceTimersByTimeAsync(9_999);
    expect(outcomes()).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    const response = await answering;
    expect(response.status).toBe(408);
    expect(response.headers.get("connection")).toBe("close");
    expect(await response.text()).toContain("BODY_TIMEOUT");
  });

  it("answers an endless upload at once, and gives it up two seconds later", async () => {
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
    await vi.advanceTimersByTimeAsync(100);
    const reader = (await answering).body?.getReader();
    const first = await reader?.read();
    expect(new TextDecoder().decode(first?.value as Uint8Array)).toContain("BODY_TOO_LARGE");
    const pulledBefore = pulled;
    const end = reader?.read();
    await vi.advanceTimersByTimeAsync(1_800);
    expect(pulled).toBeGreaterThan(pulledBefore);
    expect(cancel).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(200);
    expect(cancel).toHaveBeenCalledOnce();
    expect(await end).toMatchObject({ done: true });
  });

  it("gives up an endless upload whose request was cloned before", async () => {
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
    await vi.advanceTimersByTimeAsync(100);
    const text = (await answering).text();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await text).toContain("BODY_TOO_LARGE");
  });

  it("survives an answer that is not read", async () => {
    const { receiver } = createBodyReceiver({ maxBodyBytes: 10 });
    const response = await fetchHandler(receiver)(requestOf(await oddDelivery()));
    await expect(response.body?.cancel()).resolves.toBeUndefined();
  });
});
