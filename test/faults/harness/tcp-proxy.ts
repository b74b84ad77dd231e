import { connect, createServer, type Socket } from "node:net";
import { listen } from "../../support/servers.js";
import { createPipe, type Pipe, type Weather } from "./pipe.js";

/** A TCP proxy before a store, with what can go wrong between. All faults are off at first. */
export interface TcpProxy {
  readonly port: number;
  /** Resets every connection, once. Gives how many there were. */
  readonly cut: () => number;
  /**
   * While true, nothing passes and no byte is answered. In the end the connections are reset, as their
   * streams have lost what was sent.
   */
  readonly setBlackHole: (isOn: boolean) => void;
  /** While true, nothing passes; in the end all of it arrives, late. */
  readonly setHeld: (isOn: boolean) => void;
  /** While true, requests pass, and each connection is reset in place of its next answer. */
  readonly setAnswersLost: (isOn: boolean) => void;
  /** How many answers were lost so far. */
  readonly lostAnswers: () => number;
  /** Added to each answer's way: half of it each way. 0: none. */
  readonly setLatencyMs: (ms: number) => void;
  readonly close: () => Promise<void>;
}

interface Connection {
  readonly reset: () => void;
  readonly pipes: readonly Pipe[];
}

/** Starts a proxy before the server at `port` of 127.0.0.1, which may be down for a while. */
export async function startTcpProxy(port: number): Promise<TcpProxy> {
  const connections = new Set<Connection>();
  const weather: Weather = { latencyMs: 0, isHeld: false, isBlackHole: false };
  let areAnswersLost = false;
  let lost = 0;

  const server = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    let hasAsked = false;

    const reset = (): void => {
      connections.delete(connection);
      for (const socket of [client, upstream]) resetSocket(socket);
    };
    const requests = createPipe(weather, (chunk) => {
      hasAsked = true;
      upstream.write(chunk);
    });
    const answers = createPipe(weather, (chunk) => {
      if (areAnswersLost && hasAsked) {
        lost += 1;
        reset();
      } else client.write(chunk);
    });
    const connection: Connection = { reset, pipes: [requests, answers] };
    connections.add(connection);

    for (const socket of [client, upstream]) socket.setNoDelay(true).on("error", reset);
    client.on("data", requests.push).on("close", reset);
    // A server that goes in order says a last word first.
    upstream.on("data", answers.push).on("close", () => {
      answers.end(reset);
    });
  });
  const { port: ownPort, close } = await listen(server);

  const resetAll = (): number => {
    const count = connections.size;
    for (const { reset } of [...connections]) reset();
    return count;
  };
  const flow = (): void => {
    for (const { pipes } of [...connections]) for (const { flow: go } of pipes) go();
  };

  return {
    port: ownPort,
    cut: resetAll,
    setBlackHole(isOn) {
      weather.isBlackHole = isOn;
      if (!isOn) resetAll();
    },
    setHeld(isOn) {
      weather.isHeld = isOn;
      if (!isOn) flow();
    },
    setAnswersLost(isOn) {
      areAnswersLost = isOn;
    },
    lostAnswers: () => lost,
    setLatencyMs(ms) {
      weather.latencyMs = ms / 2;
    },
    async close() {
      resetAll();
      await close();
    },
  };
}

function resetSocket(socket: Socket): void {
  // One that is still connecting has nothing to reset.
  if (socket.connecting) socket.destroy();
  else socket.resetAndDestroy();
}
