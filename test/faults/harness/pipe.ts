/** What stands between a client and a server right now. */
export interface Weather {
  /** How long each piece is on its way. Milliseconds. */
  latencyMs: number;
  isHeld: boolean;
  isBlackHole: boolean;
}

/** One direction of a connection: pieces come out in the order in which they went in. */
export interface Pipe {
  readonly push: (chunk: Buffer) => void;
  /** Lets out what is due. */
  readonly flow: () => void;
  /** Calls `onEmpty` when all is out. */
  readonly end: (onEmpty: () => void) => void;
}

/** Makes a pipe that lets its pieces out to `write`. */
export function createPipe(weather: Weather, write: (chunk: Buffer) => void): Pipe {
  const pieces: { readonly chunk: Buffer; readonly dueAt: number }[] = [];
  let timer: NodeJS.Timeout | undefined;
  let onEmpty: (() => void) | undefined;

  const flow = (): void => {
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
    push(chunk) {
      if (weather.isBlackHole) return;
      pieces.push({ chunk, dueAt: performance.now() + weather.latencyMs });
      if (timer === undefined) flow();
    },
    flow,
    end(callback) {
      onEmpty = callback;
      if (timer === undefined) flow();
    },
  };
}
