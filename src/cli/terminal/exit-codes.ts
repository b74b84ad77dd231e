/** What a command tells the shell. One that a signal ends gives 128 and the signal's number, as a shell does. */
export const EXIT = {
  passed: 0,
  failed: 1,
  wrongUsage: 2,
  /** A bug of ours: EX_SOFTWARE of sysexits.h, so that no script takes it for a failed check. */
  bug: 70,
} as const;
