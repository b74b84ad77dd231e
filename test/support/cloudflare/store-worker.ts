// A Worker with `d1Store`. POST /<table> [[method, ...arguments], …] runs the methods at the same time, and
// answers with a list of { value } or { error }. With ?grouped their batches are one batch for D1.
import { d1Store, type D1Binding, type D1Store } from "../../../src/inbox/cloudflare/index.js";
import type { D1Statement, D1Result } from "../../../src/stores/cloudflare/d1-store.js";

interface Env {
  readonly DB: D1Binding;
}

type Call = readonly [method: keyof D1Store, ...args: unknown[]];

export default {
  async fetch(request: Request, { DB }: Env): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const database = searchParams.has("grouped") ? grouped(DB) : DB;
    const store = d1Store({ database, table: pathname.slice(1) });
    const run = async ([method, ...args]: Call): Promise<object> => {
      try {
        return { value: await (store[method] as (...args: unknown[]) => unknown)(...args) };
      } catch (error) {
        return { error: String(error) };
      }
    };
    return Response.json(await Promise.all(((await request.json()) as Call[]).map(run)));
  },
};

interface WaitingBatch {
  readonly statements: readonly D1Statement[];
  readonly settle: (results: readonly D1Result[]) => void;
  readonly fail: (error: unknown) => void;
}

/** Joins the batches of one turn: the simulated D1 takes milliseconds for each. */
function grouped(database: D1Binding): D1Binding {
  const waiting: WaitingBatch[] = [];
  const send = async (): Promise<void> => {
    const group = waiting.splice(0);
    try {
      const results = await database.batch(group.flatMap(({ statements }) => statements));
      let at = 0;
      for (const { statements, settle } of group) {
        settle(results.slice(at, at + statements.length));
        at += statements.length;
      }
    } catch (error) {
      for (const { fail } of group) fail(error);
    }
  };
  return {
    prepare: (sql) => database.prepare(sql),
    batch: (statements) =>
      new Promise((settle, fail) => {
        waiting.push({ statements, settle, fail });
        if (waiting.length === 1) queueMicrotask(() => void send());
      }),
  };
}
