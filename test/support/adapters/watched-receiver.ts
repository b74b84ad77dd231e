import { afterAll, afterEach, beforeAll, expect } from "vitest";
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
export function watchedReceivers(): (
  create: CreateServer,
  options?: ListeningOptions,
) => Promise<ListeningReceiver> {
  const faults: unknown[] = [];
  const onFault = (fault: unknown): void => void faults.push(fault);
  let open: ListeningReceiver[] = [];

  beforeAll(() => {
    process.on("unhandledRejection", onFault).on("uncaughtException", onFault);
  });
  afterAll(() => {
    process.off("unhandledRejection", onFault).off("uncaughtException", onFault);
  });
  afterEach(async () => {
    const servers = open;
    open = [];
    // Ends idle connections only: one that an adapter has left open runs into the time-out.
    for (const server of servers) await server.close();
    expect(faults.splice(0)).toEqual([]);
  });

  return async (create, options = {}) => {
    const server = await listenWith(create, options);
    open.push(server);
    return server;
  };
}

/** The outcomes of the requests to a receiver, in order. */
export function outcomesOf({ reports }: ListeningReceiver): string[] {
  return reports.map(({ outcome }) => outcome);
}
