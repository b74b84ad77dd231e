import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { build, type BuildOptions } from "esbuild";
import {
  startInstance,
  type Deployment,
  type FailureKind,
  type LambdaInstance,
  InvocationError,
} from "./lambda-instance.js";

const BOOTSTRAP = fileURLToPath(new URL("bootstrap-process.ts", import.meta.url));

/** An invocation without a result. */
export interface FailedInvocation {
  readonly event: object;
  readonly kind: FailureKind;
}

/** A deployed function. It has at most `instances` processes; further invocations wait for one. */
export interface LambdaFunction {
  readonly invoke: (event: object) => Promise<unknown>;
  readonly failures: readonly FailedInvocation[];
  /** Every process so far. */
  readonly instances: readonly LambdaInstance[];
  readonly stop: () => Promise<void>;
}

/** How a function runs. */
export interface FunctionOptions extends Omit<Deployment, "bootstrap"> {
  readonly instances: number;
  /** How long an instance is not used after a result, in milliseconds. Default: it can be used at once. */
  readonly restAfter?: (result: unknown) => number;
}

/** How a function is bundled, and runs. */
export interface SourceOptions extends Omit<FunctionOptions, "file"> {
  /** The source of the function, which exports `handler`. */
  readonly source: string;
  /** Added to the options of the bundler. */
  readonly build?: BuildOptions;
}

const COMMON: BuildOptions = { bundle: true, platform: "node", format: "cjs", logLevel: "error" };

/** Bundles a function to one CommonJS file, and runs it as Lambda does. */
export async function deployFunction(options: SourceOptions): Promise<LambdaFunction> {
  const folder = mkdtempSync(join(tmpdir(), "lambda-"));
  const file = join(folder, "index.cjs");
  await build({ ...COMMON, entryPoints: [options.source], outfile: file, ...options.build });
  const running = await runFunction({ ...options, file });
  return {
    ...running,
    async stop() {
      await running.stop();
      rmSync(folder, { recursive: true });
    },
  };
}

/** Runs a bundled function as Lambda does. */
export async function runFunction(options: FunctionOptions): Promise<LambdaFunction> {
  const folder = mkdtempSync(join(tmpdir(), "lambda-bootstrap-"));
  const bootstrap = join(folder, "bootstrap.cjs");
  await build({ ...COMMON, entryPoints: [BOOTSTRAP], outfile: bootstrap });

  const deployment = { ...options, bootstrap };
  const instances: LambdaInstance[] = [];
  const idle: LambdaInstance[] = [];
  const waiting: ((instance: LambdaInstance) => void)[] = [];
  const failures: FailedInvocation[] = [];
  let live = 0;

  const handOn = (instance: LambdaInstance): void => {
    const take = waiting.shift();
    if (take === undefined) idle.push(instance);
    else take(instance);
  };
  const start = async (): Promise<LambdaInstance> => {
    live += 1;
    const instance = await startInstance(deployment);
    instances.push(instance);
    await instance.untilFrozen();
    return instance;
  };
  const takeInstance = (): Promise<LambdaInstance> => {
    const instance = idle.shift();
    if (instance !== undefined) return Promise.resolve(instance);
    if (live < options.instances) return start();
    return new Promise((resolve) => waiting.push(resolve));
  };
  /** Makes the instance available again once it is frozen, or another one in its place. */
  const giveBack = async (instance: LambdaInstance, restMs: number): Promise<void> => {
    try {
      await instance.untilFrozen();
      if (restMs > 0) await wait(restMs, undefined, { ref: false });
      handOn(instance);
    } catch {
      live -= 1;
      await instance.stop();
      if (waiting.length > 0) handOn(await start());
    }
  };

  return {
    failures,
    instances,
    async invoke(event) {
      const instance = await takeInstance();
      let restMs = 0;
      try {
        const result = await instance.invoke(event);
        restMs = options.restAfter?.(result) ?? 0;
        return result;
      } catch (error) {
        if (error instanceof InvocationError) failures.push({ event, kind: error.kind });
        throw error;
      } finally {
        void giveBack(instance, restMs);
      }
    },
    async stop() {
      await Promise.all(instances.map((instance) => instance.stop()));
      rmSync(folder, { recursive: true });
    },
  };
}
