import { describe, expect, it } from "vitest";
import { d1Schema, type D1Store } from "../../../src/inbox/cloudflare/index.js";
import { bundleWorker } from "../../support/cloudflare/bundle-worker.js";
import {
  missingMiniflare,
  startMiniflare,
  type Miniflare,
} from "../../support/cloudflare/miniflare.js";
import { describeService } from "../../support/describe-service.js";
import { startedForAll } from "../../support/started-for-all.js";
import { testStoreInTime } from "../../support/stores/test-store.js";
import { moveUrl } from "../../support/two-webhooks.js";

const WORKER = new URL("../../support/cloudflare/store-worker.ts", import.meta.url);

/** Starts two isolates of workerd with `d1Store` from its source, which share a database. */
async function startRemoteStores() {
  const script = await bundleWorker(WORKER);
  const running = await startMiniflare({
    workers: ["one", "other"].map((name) => ({
      name,
      script,
      d1Databases: { DB: "db" },
      routes: [`http://${name}/*`],
    })),
  });
  const database = await running.getD1Database("DB");
  return {
    /** Creates a table, and returns the store of each isolate on it. */
    async onTable(table: string): Promise<[D1Store, D1Store]> {
      await database.prepare(d1Schema(table)).run();
      const storeIn = (worker: string): D1Store =>
        remoteStore(running, `http://${worker}/${table}`);
      return [storeIn("one"), storeIn("other")];
    },
    close: () => running.dispose(),
  };
}

interface WaitingCall {
  readonly call: readonly unknown[];
  readonly settle: (result: { readonly value?: unknown; readonly error?: string }) => void;
}

/** Sends the calls that are made at the same time in one request, as the Worker would make them itself. */
function remoteStore(running: Miniflare, url: string): D1Store {
  let waiting: WaitingCall[] = [];
  const send = async () => {
    const calls = waiting;
    waiting = [];
    const body = JSON.stringify(calls.map(({ call }) => call));
    const answer = await running.dispatchFetch(url, { method: "POST", body });
    const results = (await answer.json()) as Parameters<WaitingCall["settle"]>[0][];
    for (const [index, { settle }] of calls.entries()) settle(results[index] ?? {});
  };
  const call = <T>(...call: readonly unknown[]): Promise<T> =>
    new Promise((resolve, reject) => {
      waiting.push({
        call,
        settle({ value, error }) {
          if (error === undefined) resolve(value as T);
          else reject(new Error(error));
        },
      });
      if (waiting.length === 1) setImmediate(() => void send().catch(reject));
    });
  return {
    claim: (...args) => call("claim", ...args),
    renew: (...args) => call("renew", ...args),
    complete: (...args) => call("complete", ...args),
    release: (...args) => call("release", ...args),
    purge: (...args) => call("purge", ...args),
  };
}

describeService("the DeliveryStore contract on workerd", missingMiniflare, () => {
  const stores = startedForAll(startRemoteStores);
  let tables = 0;

  describe("d1Store in two isolates keeps the contract", () => {
    const makeStore = async () => {
      tables += 1;
      const [store, otherClient] = await stores().onTable(`contract_${tables}`);
      return { store, otherClient };
    };
    // Real time: the database's clock decides.
    testStoreInTime(makeStore, { leaseMs: 1_000, sequences: 200, isShort: true });
  });

  it("while a URL moves, 1 000 alarms and 300 events are handled once each in two isolates", async () => {
    const { handled, acknowledged } = await moveUrl(await stores().onTable("moves"));
    expect(acknowledged).toBe(2_600);
    expect(handled).toEqual(Array.from({ length: 1_300 }, () => 1));
  });
});
