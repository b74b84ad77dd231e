import { EventEmitter } from "node:events";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { rabbitmqQueue, type RabbitmqQueueOptions } from "../../src/inbox/rabbitmq/index.js";
import { deferred } from "../support/deferred.js";
import { alarmJob } from "../support/inbox/receiver-and-worker.js";

type Connection = Awaited<ReturnType<RabbitmqQueueOptions["connect"]>>;

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

it("a connection that comes after its time limit is closed, and its error ends no process", async () => {
  const connecting = deferred<Connection>();
  const driver = rabbitmqQueue({ connect: () => connecting.promise });
  const job = await alarmJob();
  const putting = expect(driver.put(job, undefined)).rejects.toThrow("connect took longer than");
  await vi.advanceTimersByTimeAsync(15_000);
  await putting;
  const connection = new EventEmitter();
  const close = vi.fn(() => Promise.resolve());
  connecting.resolve(Object.assign(connection, { close }) as unknown as Connection);
  await vi.advanceTimersByTimeAsync(0);
  expect(close).toHaveBeenCalledOnce();
  // Without a listener this throws, and ends a process in which a socket does it.
  expect(() => connection.emit("error", new Error("reset"))).not.toThrow();
});
