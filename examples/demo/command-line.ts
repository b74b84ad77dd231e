import { parseArgs } from "node:util";

/** The stores of `--store`, and the variable with the URL of the one that is a server. */
const STORES = {
  sqlite: undefined,
  redis: "REDIS_URL",
} as const;

export type StoreName = keyof typeof STORES;

/** What the demo shows: every fixture, planted failures, or a restart on a store that survives the process. */
export type Command =
  | { readonly show: "monitor" }
  | { readonly show: "fixtures"; readonly folder: string | undefined }
  /** `url` of the server. Undefined for SQLite. */
  | { readonly show: "restart"; readonly store: StoreName; readonly url: string | undefined };

/** A wrong command line. The message says what to change. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/**
 * Reads `[folder]`, `--monitor` or `--store <name> [--url <url>]`.
 *
 * @throws UsageError for anything else, and for a server without a URL.
 */
export function readCommand(args: readonly string[], env: NodeJS.ProcessEnv): Command {
  const { values, positionals } = parse(args);
  const [folder, ...more] = positionals;
  if (more.length > 0) throw new UsageError("one folder of fixtures at a time");
  if (values.monitor === true) {
    if (folder !== undefined || values.store !== undefined) {
      throw new UsageError("--monitor goes with no store and no folder");
    }
    return { show: "monitor" };
  }
  if (values.store === undefined) {
    if (values.url !== undefined) throw new UsageError("--url goes with --store redis");
    return { show: "fixtures", folder };
  }
  if (folder !== undefined) {
    throw new UsageError("--store sends alarms of its own: leave the folder out");
  }
  if (!isStoreName(values.store)) {
    throw new UsageError(`--store is one of ${Object.keys(STORES).join(", ")}`);
  }
  return { show: "restart", store: values.store, url: urlOf(values.store, values.url, env) };
}

function urlOf(
  store: StoreName,
  given: string | undefined,
  env: NodeJS.ProcessEnv,
): string | undefined {
  const variable = STORES[store];
  if (variable === undefined) {
    if (given === undefined) return undefined;
    throw new UsageError(`--store ${store} takes no --url: the demo makes a file of its own`);
  }
  const url = given ?? env[variable];
  if (url) return url;
  throw new UsageError(
    `--store ${store} needs a server: add --url ${store}://…, or set ${variable}`,
  );
}

function isStoreName(text: string): text is StoreName {
  return Object.hasOwn(STORES, text);
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        store: { type: "string" },
        url: { type: "string" },
        monitor: { type: "boolean" },
      },
      allowPositionals: true,
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
