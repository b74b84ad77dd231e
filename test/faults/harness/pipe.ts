/** The faults between a client and a server at the moment. */
export interface Weather {
  /** Delay of each chunk in milliseconds. */
  latencyMs: number;
  isHeld: boolean;
  isBlackHole: boolean;
}

/** One direction of a connection. Chunks leave in the order in which they arrived. */
export type Pipe = ReturnType<typeof createPipe>;

/** Makes a pipe that passes its chunks to `write`. */
export function createPipe(weather: Weather, write: (chunk: Buffer) => void) {
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
    push: (chunk: Buffer): void => {
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
