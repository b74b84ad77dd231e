/** One line of the ledger that the handlers of a function write. */
export interface LedgerEntry {
  readonly id: string;
  /** Number of the run among those of its delivery, from 1. */
  readonly run: number;
  readonly what: "began" | "effect" | "failed";
  readonly takeover: boolean;
}

/** What happened to the deliveries from outside. */
export interface OutsideFacts {
  /** The ids of the deliveries that the gateway holds for acknowledged. */
  readonly acknowledged: ReadonlySet<string>;
  /** The ids of the deliveries whose process was killed, once for each time. */
  readonly killed: readonly string[];
}

/** Everything in a ledger that the facts do not explain: lost, doubled, overlapping and odd runs. */
export function unexplained(ledger: readonly LedgerEntry[], facts: OutsideFacts): string[] {
  const byId = new Map<string, LedgerEntry[]>();
  for (const entry of ledger) byId.set(entry.id, [...(byId.get(entry.id) ?? []), entry]);
  const lost = [...facts.acknowledged].filter(
    (id) => byId.get(id)?.some(({ what }) => what === "effect") !== true,
  );
  const found = lost.map((id) => `${id} was acknowledged without an effect`);
  for (const [id, entries] of byId) {
    const kills = facts.killed.filter((killed) => killed === id);
    const effects = entries.filter(({ what }) => what === "effect").length;
    if (effects > 1 + kills.length) {
      found.push(`${id} had ${effects} effects and ${kills.length} kills`);
    }
    if (!facts.acknowledged.has(id)) found.push(`${id} ran and was not acknowledged`);
    found.push(...overlaps(id, entries));
  }
  return found;
}

/** A line of an earlier run must not come after a later run has begun. */
function overlaps(id: string, entries: readonly LedgerEntry[]): string[] {
  let latest = 0;
  return entries.flatMap(({ run, what }) => {
    latest = Math.max(latest, run);
    return run < latest ? [`${id}: run ${run} has ${what} after run ${latest} began`] : [];
  });
}
