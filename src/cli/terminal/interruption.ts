/** Why a command has to end early: the reason of `CommandIo.signal`. */
export class Interruption extends Error {
  override readonly name = "Interruption";

  constructor(
    /** 128 and the number of the signal: 130 for Ctrl-C, 143 for SIGTERM, 141 where nobody reads on. */
    readonly exitCode: number,
    message: string,
  ) {
    super(message);
  }
}

/** The value of `work`, or a rejection with the signal's reason as soon as it aborts. */
export function untilAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      reject(signal.reason as Error);
    };
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => {
      signal.removeEventListener("abort", abort);
    });
  });
}
