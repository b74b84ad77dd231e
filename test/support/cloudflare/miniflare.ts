import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { D1Binding } from "../../../src/inbox/cloudflare/index.js";

const PACKAGES = new URL("../../platforms/cloudflare/", import.meta.url);

/** Why workerd with D1 cannot run here; undefined if it can. */
export const missingMiniflare = existsSync(new URL("node_modules/miniflare", PACKAGES))
  ? undefined
  : "miniflare is not installed (npm install --no-save --prefix test/platforms/cloudflare)";

/** A D1 database, with what only the tests use of it. */
export interface TestD1 extends D1Binding {
  prepare(sql: string): TestStatement;
  batch(statements: object[]): Promise<TestResult[]>;
  withSession(constraint?: string): D1Binding;
}

interface TestStatement {
  bind(...values: unknown[]): TestStatement;
  all(): Promise<TestResult>;
  run(): Promise<TestResult>;
}

interface TestResult {
  readonly results: Record<string, unknown>[];
  /** The figures that D1 bills, and others. */
  readonly meta: {
    readonly rows_read: number;
    readonly rows_written: number;
    readonly size_after: number;
  };
}

/** The part of `Miniflare` that the tests use: workerd in a process of its own, with D1 beside it. */
export interface Miniflare {
  readonly ready: Promise<URL>;
  /** A proxy: each call of `prepare`, `bind` and `batch` is a request of its own. */
  getD1Database(binding: string): Promise<TestD1>;
  dispatchFetch(
    url: string,
    request: { method: string; headers?: Record<string, string>; body?: string },
  ): Promise<Response>;
  getWorker(): Promise<{ scheduled(event: { cron: string }): Promise<unknown> }>;
  dispose(): Promise<void>;
}

/** A Worker, which is one ES module. */
interface WorkerOptions {
  readonly name?: string;
  readonly script: string;
  /** `{ binding: id }` */
  readonly d1Databases?: Readonly<Record<string, string>>;
  /** `{ binding: queue }` */
  readonly queueProducers?: Readonly<Record<string, string>>;
  /** By queue. */
  readonly queueConsumers?: Readonly<Record<string, object>>;
  /** Functions of this process that the Worker calls by `fetch`. */
  readonly serviceBindings?: Readonly<Record<string, (request: Request) => Promise<Response>>>;
  readonly bindings?: Readonly<Record<string, string>>;
  readonly routes?: readonly string[];
}

interface MiniflareOptions {
  readonly workers: readonly WorkerOptions[];
  /** Gets what the Workers log. Without it, that goes to the output of this process. */
  readonly onOutput?: (text: string) => void;
}

/** Starts workerd. Stop it by `dispose`. */
export async function startMiniflare({ workers, onOutput }: MiniflareOptions): Promise<Miniflare> {
  const { Miniflare } = createRequire(fileURLToPath(PACKAGES))("miniflare") as {
    Miniflare: new (options: object) => Miniflare;
  };
  const common = {
    modules: true,
    // Without Node built-ins, which a bundle for the edge must not need.
    compatibilityDate: "2025-04-01",
  };
  const handleRuntimeStdio = (...streams: Readable[]) => {
    for (const stream of streams) {
      stream.on("data", (chunk: Buffer) => onOutput?.(chunk.toString()));
    }
  };
  const running = new Miniflare({
    ...(onOutput === undefined ? {} : { handleRuntimeStdio }),
    workers: workers.map((worker) => ({ ...common, ...worker })),
  });
  await running.ready;
  return running;
}

/** Starts workerd with an empty Worker and the database `DB`. */
export async function startD1() {
  const script = "export default { fetch: () => new Response() };";
  const running = await startMiniflare({ workers: [{ script, d1Databases: { DB: "db" } }] });
  return { database: await running.getD1Database("DB"), close: () => running.dispose() };
}
