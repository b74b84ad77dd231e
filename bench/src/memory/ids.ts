import { newId } from "../deliveries.js";
import { WrongOutcomeError } from "../rounds.js";
import type { Remember } from "./stores.js";

const CHUNK = 10_000;

/**
 * New ids as flat strings, as a server's parser makes them. `randomUUID` returns a tree of pieces, which
 * would count as memory of the store.
 */
function newIds(count: number): string[] {
  return Array.from({ length: count }, () => Buffer.from(newId(), "latin1").toString("latin1"));
}

/**
 * Adds this many new ids to a store, and returns the nanoseconds. The ids are made in chunks outside of the
 * measured time, so that only the store holds them.
 *
 * @throws WrongOutcomeError if it took a new id for a known one, or forgot one at once.
 */
export function fill(name: string, remember: Remember, count: number): number {
  let ns = 0;
  for (let done = 0; done < count; done += CHUNK) {
    const ids = newIds(Math.min(CHUNK, count - done));
    let fresh = 0;
    const start = process.hrtime.bigint();
    for (const id of ids) if (remember(id)) fresh += 1;
    ns += Number(process.hrtime.bigint() - start);
    const last = ids.at(-1);
    if (fresh !== ids.length || (last !== undefined && remember(last))) {
      throw new WrongOutcomeError(`${name}: ${fresh} of ${ids.length} new ids were remembered`);
    }
  }
  return ns;
}
