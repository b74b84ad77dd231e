import { afterAll, afterEach, beforeAll, expect, vi } from "vitest";
import {
  listenWith,
  type CreateServer,
  type ListeningOptions,
  type ListeningReceiver,
} from "../listening-receiver.js";

/**
 * For test files that cut connections: opens a receiver for a test and closes it afterwards. A
 * connection that is left open fails the test, and so does an uncaught error.
 */
export function watchedReceivers() {
  const faults: unknown[] = [];
  const onFault = (fault: unknown) => void faults.push(fault);
  const servers: ListeningReceiver[] = [];
  const clients: { close(): void }[] = [];

  beforeAll(() => {
    process.on("unhandledRejection", onFault).on("uncaughtException", onFault);
  });
  afterAll(() => {
    process.off("unhandledRejection", onFault).off("uncaughtException", onFault);
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.close();
    // Ends idle connections only: one that an adapter has left open runs into the time-out.
    for (const server of servers.splice(0)) await server.close();
    expect(faults.splice(0)).toEqual([]);
  });

  /** Opens a receiver for a test. */
  const open = async (create: CreateServer, options: ListeningOptions = {}) => {
    const server = await listenWith(create, options);
    servers.push(server);
    return server;
  };
  /** A client that is closed after the test. */
  const closing = <Client extends { close(): void }>(client: Client): Client => {
    clients.push(client);
    return client;
  };
  /** Opens a receiver and a connection to it, which the sender ends after the test. */
  const connected = async (...args: Parameters<typeof open>) => {
    const server = await open(...args);
    const connection = await server.connect();
    closing({ close: () => connection.socket.end() });
    return { server, connection };
  };
  return Object.assign(open, { closing, connected });
}

/** The outcomes of the requests to a receiver, in order. */
export function outcomesOf({ reports }: ListeningReceiver): string[] {
  return reports.map(({ outcome }) => outcome);
}

/** Counts the timers of one length: all started, those not cleared, and those that fired, until the test ends. */
export function watchTimers(delayMs: number) {
  let [started, fired] = [0, 0];
  const running = new Set<unknown>();
  const { setTimeout: start, clearTimeout: stop } = globalThis;
  vi.spyOn(globalThis, "setTimeout").mockImplementation((callback: () => void, ms?: number) => {
    if (ms !== delayMs) return start(callback, ms);
    started += 1;
    const timer = start(() => {
      fired += 1;
      callback();
    }, ms);
    running.add(timer);
    return timer;
  });
  vi.spyOn(globalThis, "clearTimeout").mockImplementation((timer) => {
    running.delete(timer);
    stop(timer);
  });
  return {
    started: () => started,
    running: () => running.size,
    fired: () => fired,
  };
}
