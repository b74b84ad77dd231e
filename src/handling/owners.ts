/**
 * Names owners: a random part for this receiver and a counter. The random part waits for the first
 * claim, since workers give out no random numbers while a module loads.
 */
export function createOwners(): () => string {
  let prefix: string | undefined;
  let count = 0;
  return () => {
    prefix ??= `${crypto.randomUUID()}-`;
    count += 1;
    return prefix + String(count);
  };
}
