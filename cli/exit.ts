/** Exit codes. A command that a signal ends exits with 128 plus the signal's number, as in a shell. */
export const EXIT = {
  passed: 0,
  failed: 1,
  wrongUsage: 2,
  /** What was asked gave no answer, so nothing is known: an outage, a login that has ended. Not a finding. */
  notAnswered: 4,
  /** A bug in this program: EX_SOFTWARE of sysexits.h, so that no script takes it for a failed check. */
  bug: 70,
} as const;

/** A wrong call of a command. The message is one line that says what to change. It holds no secret. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Why a command must end early: the reason of `CommandIo.signal`. */
export class Interruption extends Error {
  override readonly name = "Interruption";

  constructor(
    /** 128 plus the number of the signal: 130 for Ctrl-C, 143 for SIGTERM, 141 for a closed pipe. */
    readonly exitCode: number,
    message: string,
  ) {
    super(message);
  }
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return untilAborted(signal, new Promise<never>(() => undefined)).catch(() => undefined);
}

/** Resolves to the value of `work`. Rejects with the signal's reason as soon as the signal aborts. */
export function untilAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
