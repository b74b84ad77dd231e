import { d1Schema, type D1Store } from "../../../src/inbox/cloudflare/index.js";
import { bundleWorker } from "./bundle-worker.js";
import { startMiniflare, type Miniflare } from "./miniflare.js";

/** Starts two isolates of workerd with `d1Store` from its source, which share a database. */
export async function startRemoteStores() {
  const script = await bundleWorker(new URL("store-worker.ts", import.meta.url));
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
