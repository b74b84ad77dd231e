import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import http from "node:http";
import { text } from "node:stream/consumers";
import { deferred, type Deferred } from "../deferred.js";
import { listen } from "../servers.js";

/** A function as it is deployed. */
export interface Deployment {
  /** The bundled bootstrap, which stands for that of AWS. */
  readonly bootstrap: string;
  /** The bundled function. */
  readonly file: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The time-out of the function: an instance that takes longer is killed. */
  readonly timeoutMs: number;
}

/** Why an invocation has no result. `function` means that the function threw. */
export type FailureKind = "timeout" | "exit" | "function";

/** An invocation failed. */
export class InvocationError extends Error {
  constructor(
    readonly kind: FailureKind,
    message: string,
  ) {
    super(message);
  }
}

/** A process of the function. It is frozen whenever it waits for an invocation. */
export interface LambdaInstance {
  /** Thaws it for one event. Rejects with an `InvocationError`. */
  readonly invoke: (event: object) => Promise<unknown>;
  /** Resolves when it waits for an invocation, frozen; rejects if it ended before. */
  readonly untilFrozen: () => Promise<void>;
  readonly pid: number;
  /** How often it was frozen. */
  readonly freezes: () => number;
  readonly output: () => string;
  readonly stop: () => Promise<void>;
}

/** Starts a process of the function with a Runtime API of its own. */
export async function startInstance(deployment: Deployment): Promise<LambdaInstance> {
  let running: (Deferred<unknown> & { readonly id: string }) | undefined;
  let next: http.ServerResponse | undefined;
  let frozen = deferred();
  let freezes = 0;

  const answer = async (req: http.IncomingMessage, res: http.ServerResponse): Promise<void> => {
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
  const { port, close } = await listen(api);
  const { child, output, exited } = startProcess(deployment, port);
  void exited.then(() => {
    const gone = new InvocationError("exit", `the process has ended:\n${output()}`);
    running?.reject(gone);
    frozen.reject(gone);
  });
  frozen.promise.catch(() => undefined);
  let stopped: Promise<void> | undefined;
  const end = async (): Promise<void> => {
    child.kill("SIGKILL");
    await exited;
    api.closeAllConnections();
    await close();
  };

  return {
    pid: child.pid ?? 0,
    freezes: () => freezes,
    output,
    untilFrozen: () => frozen.promise,
    async invoke(event) {
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
