import { connect, createServer, type Socket } from "node:net";
import { listen } from "../../support/servers.js";

/** The faults between a client and a server at the moment. */
interface Weather {
  /** Delay of each chunk in milliseconds. */
  latencyMs: number;
  isHeld: boolean;
  isBlackHole: boolean;
}

/** One direction of a connection. Chunks leave in the order in which they arrived. */
type Pipe = ReturnType<typeof createPipe>;

/** Makes a pipe that passes its chunks to `write`. */
function createPipe(weather: Weather, write: (chunk: Buffer) => void) {
  const pieces: { readonly chunk: Buffer; readonly dueAt: number }[] = [];
  let timer: NodeJS.Timeout | undefined;
  let onEmpty: (() => void) | undefined;

  const flow = () => {
    clearTimeout(timer);
    timer = undefined;
    while (!weather.isHeld) {
      const [first] = pieces;
      if (first === undefined) {
        onEmpty?.();
        return;
      }
      const leftMs = first.dueAt - performance.now();
      if (leftMs > 0) {
        timer = setTimeout(flow, leftMs);
        return;
      }
      pieces.shift();
      write(first.chunk);
    }
  };

  return {
    push: (chunk: Buffer) => {
      if (weather.isBlackHole) return;
      pieces.push({ chunk, dueAt: performance.now() + weather.latencyMs });
      if (timer === undefined) flow();
    },
    /** Writes the chunks that are due. */
    flow,
    /** Calls `onEmpty` when all chunks are written. */
    end(callback: () => void) {
      onEmpty = callback;
      if (timer === undefined) flow();
    },
  };
}

/** A TCP proxy in front of a store that injects network faults. All faults are off at first. */
export type TcpProxy = Awaited<ReturnType<typeof startTcpProxy>>;

interface Connection {
  readonly reset: () => void;
  readonly pipes: readonly Pipe[];
}

/** Starts a proxy for the server at `port` of 127.0.0.1. The server may be down for a while. */
export async function startTcpProxy(port: number) {
  let target = port;
  const connections = new Set<Connection>();
  const weather: Weather = { latencyMs: 0, isHeld: false, isBlackHole: false };
  let areAnswersLost = false;
  let lost = 0;

  const server = createServer((client) => {
    const upstream = connect(target, "127.0.0.1");
    let hasAsked = false;

    const reset = () => {
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
    // A server that shuts down cleanly sends its last data first.
    upstream.on("data", answers.push).on("close", () => answers.end(reset));
  });
  const { port: ownPort, close } = await listen(server);

  const resetAll = () => {
    const count = connections.size;
    for (const { reset } of [...connections]) reset();
    return count;
  };
  const flow = () => {
    for (const { pipes } of [...connections]) for (const { flow: go } of pipes) go();
  };

  return {
    port: ownPort,
    /** Resets every connection once. Returns the number of connections. */
    cut: resetAll,
    /** New connections lead to another server, and those that are open are reset. */
    redirect(other: number) {
      target = other;
      resetAll();
    },
    /**
     * While true, all data is dropped and nothing is answered. At the end the connections are reset, because
     * their streams have lost data.
     */
    setBlackHole: (isOn: boolean) => {
      weather.isBlackHole = isOn;
      if (!isOn) resetAll();
    },
    /** While true, data is held back. At the end all of it arrives late. */
    setHeld: (isOn: boolean) => {
      weather.isHeld = isOn;
      if (!isOn) flow();
    },
    /** While true, requests pass, and each connection is reset instead of its next answer. */
    setAnswersLost: (isOn: boolean) => {
      areAnswersLost = isOn;
    },
    /** Number of lost answers so far. */
    lostAnswers: () => lost,
    /** Extra latency in milliseconds, half of it in each direction. 0 for none. */
    setLatencyMs(ms: number) {
      weather.latencyMs = ms / 2;
    },
    close: async () => {
      resetAll();
      await close();
    },
  };
}

function resetSocket(socket: Socket): void {
  // A connection that is not yet established cannot be reset.
  if (socket.connecting) socket.destroy();
  else socket.resetAndDestroy();
}
