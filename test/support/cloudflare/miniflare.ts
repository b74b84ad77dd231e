import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { D1Binding } from "../../../src/stores/cloudflare/index.js";

const PACKAGES = new URL("../../platforms/cloudflare/", import.meta.url);

/** Why D1 cannot run here; undefined if it can. */
export const missingMiniflare = existsSync(new URL("node_modules/miniflare", PACKAGES))
  ? undefined
  : "miniflare is not installed (npm install --no-save --prefix test/platforms/cloudflare)";

/** The figures that D1 bills, and other facts about a statement. */
export interface D1Meta {
  readonly changes: number;
  readonly rows_read: number;
  readonly rows_written: number;
  readonly size_after: number;
}

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
  readonly meta: D1Meta;
}

/** The part of `Miniflare` that the tests use: workerd in a process of its own, with D1 beside it. */
export interface Miniflare {
  readonly ready: Promise<URL>;
  getD1Database(binding: string): Promise<TestD1>;
  dispatchFetch(
    url: string,
    request: { method: string; headers: Record<string, string>; body?: string },
  ): Promise<Response>;
  setOptions(options: MiniflareOptions): Promise<void>;
  dispose(): Promise<void>;
}

/** Options of `Miniflare`. The D1 databases are `{ binding: id }`. */
export interface MiniflareOptions {
  readonly script: string;
  readonly d1Databases: Readonly<Record<string, string>>;
  readonly d1Persist?: string;
  readonly bindings?: Readonly<Record<string, string>>;
  readonly port?: number;
  readonly handleRuntimeStdio?: (
    stdout: NodeJS.ReadableStream,
    stderr: NodeJS.ReadableStream,
  ) => void;
}

const EMPTY_WORKER = "export default { fetch: () => new Response() };";

/** Starts workerd with the database `DB`, without a Worker of interest. */
export async function startD1(options: Partial<MiniflareOptions> = {}): Promise<{
  readonly database: TestD1;
  readonly stop: () => Promise<void>;
}> {
  const running = await startMiniflare({
    script: EMPTY_WORKER,
    d1Databases: { DB: "db" },
    ...options,
  });
  return { database: await running.getD1Database("DB"), stop: () => running.dispose() };
}

/** Starts workerd with a Worker, an ES module. */
export async function startMiniflare(options: MiniflareOptions): Promise<Miniflare> {
  const { Miniflare } = createRequire(fileURLToPath(PACKAGES))("miniflare") as {
    Miniflare: new (options: MiniflareOptions & WorkerOptions) => Miniflare;
  };
  const running = new Miniflare({ ...WORKER_OPTIONS, ...options });
  await running.ready;
  return running;
}

interface WorkerOptions {
  readonly modules: true;
  readonly host: string;
  readonly compatibilityDate: string;
}

// An early date: a bundle that runs with it needs no Node built-ins.
const WORKER_OPTIONS: WorkerOptions = {
  modules: true,
  host: "127.0.0.1",
  compatibilityDate: "2025-04-01",
};
