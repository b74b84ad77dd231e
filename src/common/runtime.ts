/**
 * The parts of Node's `process` that the core reads. On other runtimes some or all of them are missing.
 */
interface Process {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly getBuiltinModule?: (id: string) => BuiltinModule | undefined;
  readonly send?: unknown;
}

/** What is read of `node:cluster` and `node:module`. */
interface BuiltinModule {
  readonly isWorker?: boolean;
  readonly createRequire?: (url: string) => (path: string) => unknown;
}

const runtime = globalThis as { readonly process?: Process };

/**
 * An environment variable. Undefined if it is not set, if the runtime has no `process`, and if reading it
 * throws, as it does on Deno without the permission.
 */
export function environmentVariable(name: string): string | undefined {
  try {
    return runtime.process?.env?.[name];
  } catch {
    return undefined;
  }
}

/** Whether an environment variable has a value. */
export function isVariableSet(name: string): boolean {
  return (environmentVariable(name) ?? "") !== "";
}

/** Whether this is Cloudflare Workers, which end the context of a request with its answer. */
export function isOnWorkers(): boolean {
  const { navigator } = globalThis as { readonly navigator?: { readonly userAgent?: string } };
  return navigator?.userAgent === "Cloudflare-Workers";
}

/** Whether this process is a worker of `node:cluster`. */
export function isClusterWorker(): boolean {
  // Not by the variable NODE_UNIQUE_ID: Node removes it before the application starts.
  try {
    // A worker has a channel to its parent. Without this line a cold start loads node:cluster, in 3 ms.
    if (runtime.process?.send === undefined) return false;
    return runtime.process.getBuiltinModule?.("node:cluster")?.isWorker === true;
  } catch {
    return false;
  }
}
