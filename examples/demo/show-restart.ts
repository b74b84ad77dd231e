import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StoreName } from "./command-line.js";
import { startD1 } from "./d1.js";
import { startDynalite } from "./dynalite.js";
import {
  openStore,
  StoreUnavailableError,
  type DurableStore,
  type StorePlace,
} from "./durable-store.js";
import { createLedger } from "./ledger.js";
import { deliverAcrossRestart } from "./restart.js";
import type { Result } from "./table.js";

/**
 * Longer than a process takes to start, so that the lease of the killed one still holds. A claim may take half of it,
 * and dynalite is slow.
 */
const leaseMsOf = ({ store }: StorePlace): number => (store === "dynamodb" ? 12_000 : 3_000);

/** Kills a receiver and starts it again on the same store. The store is new, and removed in the end. */
export async function showRestart(store: StoreName, url: string | undefined): Promise<Result> {
  const server = await startServer(store);
  const folder = await mkdtemp(join(tmpdir(), "gateway-demo-"));
  const effects = join(folder, "effects.txt");
  const place: StorePlace = {
    store,
    location: server?.url ?? url ?? join(folder, "deliveries.db"),
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
    await server?.stop();
    await rm(folder, { recursive: true });
  }
}

async function show(place: StorePlace, effects: string): Promise<Result> {
  const ledger = createLedger();
  const startedAt = performance.now();
  const restart = await deliverAcrossRestart({ place, effects, leaseMs: leaseMsOf(place) }, ledger);
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

/** Starts the server of a store that the demo brings itself. */
async function startServer(
  store: StoreName,
): Promise<{ readonly url: string; readonly stop: () => Promise<void> } | undefined> {
  try {
    if (store === "d1") return await startD1();
    return store === "dynamodb" ? await startDynalite() : undefined;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreUnavailableError(`the server of ${store} cannot be used: ${reason}`);
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
  if (store === "d1") return "Cloudflare D1 on workerd";
  if (store === "dynamodb") return "a table of DynamoDB (dynalite)";
  const host = URL.canParse(location) ? new URL(location).host : "";
  const names = { redis: "Redis", postgres: "PostgreSQL", mysql: "MySQL" };
  return `${names[store]} at ${host || "that URL"}`;
}
