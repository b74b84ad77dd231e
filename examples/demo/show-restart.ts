import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StoreName } from "./command-line.js";
import {
  openStore,
  StoreUnavailableError,
  type DurableStore,
  type StorePlace,
} from "./durable-store.js";
import { createLedger } from "./ledger.js";
import { deliverAcrossRestart } from "./restart.js";
import type { Result } from "./table.js";

/** Longer than a process takes to start, so that the lease of the killed one still holds. */
const LEASE_MS = 3_000;

/** Kills a receiver and starts it again on the same store. The store is new, and removed in the end. */
export async function showRestart(store: StoreName, url: string | undefined): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), "gateway-demo-"));
  const effects = join(folder, "effects.txt");
  const place: StorePlace = {
    store,
    location: url ?? join(folder, "deliveries.db"),
    name: `gateway_demo_${randomUUID().slice(0, 8)}`,
  };
  try {
    await writeFile(effects, "");
    const opened = await open(place);
    try {
      return await show(place, effects);
    } finally {
      await remove(opened, place);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function show(place: StorePlace, effects: string): Promise<Result> {
  const ledger = createLedger();
  const startedAt = performance.now();
  const restart = await deliverAcrossRestart({ place, effects, leaseMs: LEASE_MS }, ledger);
  return {
    headline: `The gateway delivers to ${restart.url}\nThe receiver remembers in ${nameOf(place)}`,
    sections: restart.sections,
    miscounts: ledger.miscounts(),
    ms: performance.now() - startedAt,
    remark: `The ledger of effects, a file beside the store: ${restart.effects} effects of ${ledger.size()} alarms.`,
  };
}

async function open(place: StorePlace): Promise<DurableStore> {
  try {
    if (place.store === "sqlite") buildSqliteDriver();
    return await openStore(place);
  } catch (error) {
    const reason = error instanceof Error ? error.message : "";
    // For a host name with several addresses the error has a code and no message.
    const code = error instanceof Error && "code" in error ? String(error.code) : "no connection";
    throw new StoreUnavailableError(`${nameOf(place)} cannot be used: ${reason || code}`);
  }
}

/** Compiles better-sqlite3, which `npm ci` only unpacks, unless this Node can load it already. */
function buildSqliteDriver(): void {
  try {
    execFileSync(process.execPath, ["--import", "tsx", "test/support/sqlite/build-driver.ts"], {
      stdio: ["ignore", "ignore", "inherit"],
    });
  } catch (error) {
    throw new Error("better-sqlite3 is not compiled", { cause: error });
  }
}

async function remove({ clear, close }: DurableStore, place: StorePlace): Promise<void> {
  try {
    await clear();
    await close();
  } catch {
    // Still show the table: it shows the effect of a server that went away.
    console.error(`the data under ${place.name} could not be removed from ${nameOf(place)}`);
  }
}

/** The store for display. Of a URL only the host, since the rest may hold a password. */
function nameOf({ store, location }: StorePlace): string {
  if (store === "sqlite") return "an SQLite file";
  const host = URL.canParse(location) ? new URL(location).host : "";
  return `Redis at ${host || "that URL"}`;
}
