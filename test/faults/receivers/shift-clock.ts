let offMs = 0;

/** Shifts the wall clock of this process by so much more, for the library and for its drivers. */
export function shiftClock(byMs: number): void {
  const isShifted = offMs !== 0;
  offMs += byMs;
  if (byMs === 0 || isShifted) return;
  const RealDate = Date;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args: unknown[], newTarget) =>
      Reflect.construct(
        target,
        args.length === 0 ? [target.now() + offMs] : args,
        newTarget,
      ) as Date,
    apply: () => new RealDate(RealDate.now() + offMs).toString(),
    get: (target, name, receiver): unknown =>
      name === "now" ? () => target.now() + offMs : Reflect.get(target, name, receiver),
  });
}
