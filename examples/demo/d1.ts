import { createRequire } from "node:module";
import type { D1Binding } from "identity-gateway-webhooks/cloudflare";
import { installServer } from "./install-server.js";

/** The part of miniflare that the demo uses. */
interface Miniflare {
  readonly ready: Promise<URL>;
  dispose(): Promise<void>;
}

/** A Worker that runs the batches of other processes: POST [[sql, ...values], …] */
const SCRIPT = `export default {
  async fetch(request, { DB }) {
    const statements = await request.json();
    try {
      const bound = statements.map(([sql, ...values]) => DB.prepare(sql).bind(...values));
      return Response.json(await DB.batch(bound));
    } catch (error) {
      return new Response(String(error), { status: 500 });
    }
  },
};`;

/** Starts workerd with a new D1 database. Installs miniflare for that, once. */
export async function startD1(): Promise<{ url: string; stop: () => Promise<void> }> {
  const packages = await installServer("cloudflare", "miniflare, which runs D1 on this machine,");
  const { Miniflare } = createRequire(packages)("miniflare") as {
    Miniflare: new (options: object) => Miniflare;
  };
  const running = new Miniflare({
    modules: true,
    script: SCRIPT,
    host: "127.0.0.1",
    compatibilityDate: "2025-04-01",
    d1Databases: { DB: "demo" },
  });
  return { url: String(await running.ready), stop: () => running.dispose() };
}

/** A statement of a remote database, with its values. */
interface RemoteStatement extends ReturnType<D1Binding["prepare"]> {
  readonly call: readonly unknown[];
}

/** The database of `startD1` as a binding, for any process. A Worker has it as `env.DB`. */
export function remoteD1(url: string): D1Binding {
  const statement = (sql: string, values: readonly unknown[]): RemoteStatement => ({
    call: [sql, ...values],
    bind: (...bound) => statement(sql, bound),
  });
  return {
    prepare: (sql) => statement(sql, []),
    async batch(statements) {
      const calls = statements.map((one) => (one as RemoteStatement).call);
      const answer = await fetch(url, { method: "POST", body: JSON.stringify(calls) });
      if (!answer.ok) throw new Error(await answer.text());
      return (await answer.json()) as Awaited<ReturnType<D1Binding["batch"]>>;
    },
  };
}
