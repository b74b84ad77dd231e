import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** A process of the lab that answers each message with one message. */
export interface Helper<Order, Reply> {
  readonly pid: number;
  /** Sends an order and returns the reply. @throws Error if the process ends or reports an error. */
  readonly ask: (order: Order) => Promise<Reply>;
  readonly stop: () => Promise<void>;
}

type Envelope = { readonly reply: unknown } | { readonly error: string };

/** Starts a script of the benchmark under the given Node. */
export function startHelper<Order, Reply>(
  script: string,
  { node, args = [] }: { readonly node: string; readonly args?: readonly string[] },
): Helper<Order, Reply> {
  const file = fileURLToPath(new URL(script, import.meta.url));
  const child = spawn(node, [file, ...args], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const ended = once(child, "exit").then(([code, signal]) => {
    throw new Error(`${script} ended with ${String(code ?? signal)}`);
  });
  // A waiting caller gets the rejection. After `stop` no one waits.
  ended.catch(() => undefined);
  return {
    pid: child.pid ?? Number.NaN,
    async ask(order) {
      child.send(order as object);
      const [message] = (await Promise.race([once(child, "message"), ended])) as [Envelope];
      if ("error" in message) throw new Error(`${script}: ${message.error}`);
      return message.reply as Reply;
    },
    stop: () => stop(child),
  };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.disconnect();
  await exited;
}

/** Answers each order of `startHelper` with what `answer` returns, until the parent process is gone. */
export function answerOrders<Order>(answer: (order: Order) => unknown): void {
  process.on("disconnect", () => process.exit());
  process.on("message", (order: Order) => {
    Promise.resolve(order)
      .then(answer)
      .then(
        (reply) => process.send?.({ reply } satisfies Envelope),
        (error: unknown) => process.send?.({ error: String((error as Error).stack ?? error) }),
      );
  });
}
