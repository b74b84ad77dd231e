import { startBackgroundTimer } from "../../common/timers.js";
import type { RedisConnection } from "./redis-connection.js";
import { RedisUnavailableError } from "./redis-unavailable-error.js";

/** A function that is started by a request connects while that request waits. */
const FIRST_CONNECTION_MS = 2_000;
const POLL_MS = 10;

/**
 * Rejects with `RedisUnavailableError` while the client is not connected, at once: its own queue would
 * hold the request open, and grow with each. Only the first connection is waited for, once and for two
 * seconds at most.
 */
export function createRequireConnection(connection: RedisConnection): () => Promise<void> {
  let firstConnection: Promise<void> | undefined;

  return async () => {
    let state = connection.state();
    if (state === "connecting") {
      firstConnection ??= untilConnected(connection);
      await firstConnection;
      state = connection.state();
    }
    if (state === "closed") {
      throw new RedisUnavailableError(`the Redis client is closed: ${connection.closedAdvice}`);
    }
    if (state === "connecting") {
      throw new RedisUnavailableError("the Redis client is not connected: is the server up?");
    }
    firstConnection ??= Promise.resolve();
  };
}

/** Resolves when the connection is made or closed, or the time has passed. */
function untilConnected(connection: RedisConnection): Promise<void> {
  const deadline = performance.now() + FIRST_CONNECTION_MS;
  return new Promise((resolve) => {
    const poll = (): void => {
      if (connection.state() !== "connecting" || performance.now() >= deadline) resolve();
      else startBackgroundTimer(POLL_MS, poll);
    };
    poll();
  });
}
