import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { build, type BuildOptions } from "esbuild";
import { deferred, type Deferred } from "../deferred.js";
import { listenHttp } from "../servers.js";

/** A function as it is deployed. */
interface Deployment {
  /** The bundled bootstrap, which stands for that of AWS. */
  readonly bootstrap: string;
  /** The bundled function. */
  readonly file: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The time-out of the function: an instance that takes longer is killed. */
  readonly timeoutMs: number;
}

/** Why an invocation has no result. `function` means that the function threw. */
type FailureKind = "timeout" | "exit" | "function";

/** An invocation failed. */
class InvocationError extends Error {
  constructor(
    readonly kind: FailureKind,
    message: string,
  ) {
    super(message);
  }
}

/** A process of the function. It is frozen whenever it waits for an invocation. */
type LambdaInstance = Awaited<ReturnType<typeof startInstance>>;

/** Starts a process of the function with a Runtime API of its own. */
async function startInstance(deployment: Deployment) {
  let running: (Deferred<unknown> & { readonly id: string }) | undefined;
  let next: http.ServerResponse | undefined;
  let frozen = deferred();
  let freezes = 0;

  const answer = async (req: http.IncomingMessage, res: http.ServerResponse) => {
    const path = String(req.url).split("/").slice(3);
    if (path.at(-1) === "next") {
      next = res;
      freezes += 1;
      child.kill("SIGSTOP");
      frozen.resolve();
      return;
    }
    const body = await text(req);
    if (path[1] !== running?.id) throw new Error(`an answer to another invocation: ${body}`);
    if (path.at(-1) === "response") running?.resolve(JSON.parse(body));
    else running?.reject(new InvocationError("function", body));
    res.writeHead(202).end("{}");
  };
  const api = http.createServer((req, res) => {
    answer(req, res).catch(() => res.destroy());
  });
  // The process may wait for its next invocation for as long as the test takes.
  api.keepAliveTimeout = 0;
  const { port, close } = await listenHttp(api);
  const { child, output, exited } = startProcess(deployment, port);
  void exited.then(() => {
    const gone = new InvocationError("exit", `the process has ended:\n${output()}`);
    running?.reject(gone);
    frozen.reject(gone);
  });
  frozen.promise.catch(() => undefined);
  let stopped: Promise<void> | undefined;
  const end = async () => {
    child.kill("SIGKILL");
    await exited;
    await close();
  };

  return {
    /** How often it was frozen. */
    freezes: () => freezes,
    output,
    /** Resolves when it waits for an invocation, frozen; rejects if it ended before. */
    untilFrozen: () => frozen.promise,
    /** Thaws it for one event. Rejects with an `InvocationError`. */
    async invoke(event: object) {
      await frozen.promise;
      frozen = deferred();
      frozen.promise.catch(() => undefined);
      const invocation = { ...deferred<unknown>(), id: randomUUID() };
      running = invocation;
      child.kill("SIGCONT");
      const headers = {
        "lambda-runtime-aws-request-id": invocation.id,
        "lambda-runtime-deadline-ms": String(Date.now() + deployment.timeoutMs),
      };
      next?.writeHead(200, headers).end(JSON.stringify(event));
      const timer = setTimeout(() => {
        invocation.reject(new InvocationError("timeout", "Task timed out"));
        child.kill("SIGKILL");
      }, deployment.timeoutMs);
      try {
        return await invocation.promise;
      } finally {
        clearTimeout(timer);
      }
    },
    stop() {
      stopped ??= end();
      return stopped;
    },
  };
}

function startProcess({ bootstrap, file, environment }: Deployment, port: number) {
  const child: ChildProcess = spawn(process.execPath, [bootstrap, file], {
    env: {
      PATH: process.env["PATH"],
      AWS_LAMBDA_FUNCTION_NAME: "webhooks",
      AWS_LAMBDA_RUNTIME_API: `127.0.0.1:${port}`,
      ...environment,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (data: Buffer) => (output += data.toString()));
  }
  return { child, output: () => output, exited: once(child, "exit") };
}

// Without an ending, which differs where the benchmark is built.
const BOOTSTRAP = fileURLToPath(new URL("bootstrap-process", import.meta.url));

/** A deployed function. It has at most `instances` processes; further invocations wait for one. */
export type LambdaFunction = Awaited<ReturnType<typeof runFunction>>;

/** How a function runs. */
interface FunctionOptions extends Omit<Deployment, "bootstrap"> {
  readonly instances: number;
  /** How long an instance is not used after a result, in milliseconds. Default: it can be used at once. */
  readonly restAfter?: (result: unknown) => number;
}

/** How a function is bundled, and runs. */
interface SourceOptions extends Omit<FunctionOptions, "file"> {
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
export async function runFunction(options: FunctionOptions) {
  const folder = mkdtempSync(join(tmpdir(), "lambda-bootstrap-"));
  const bootstrap = join(folder, "bootstrap.cjs");
  await build({ ...COMMON, entryPoints: [BOOTSTRAP], outfile: bootstrap });

  const deployment = { ...options, bootstrap };
  /** Every process so far. */
  const instances: LambdaInstance[] = [];
  const idle: LambdaInstance[] = [];
  const waiting: ((instance: LambdaInstance) => void)[] = [];
  /** The invocations without a result. */
  const failures: { readonly event: object; readonly kind: FailureKind }[] = [];
  let live = 0;

  const handOn = (instance: LambdaInstance) => {
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
  const giveBack = async (instance: LambdaInstance, restMs: number) => {
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
    invoke: async (event: object) => {
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
    stop: async () => {
      await Promise.all(instances.map((instance) => instance.stop()));
      rmSync(folder, { recursive: true });
    },
  };
}
