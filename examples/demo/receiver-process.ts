import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { ReceiverNews, ReceiverOrder } from "./receiver-messages.js";

/** A receiver in a process of its own. */
export interface ReceiverProcess {
  readonly url: string;
  readonly port: number;
  /** Resolves when the handler that will be killed runs. */
  readonly handling: Promise<void>;
  /** Kills the process (SIGKILL). Resolves when it has ended. */
  readonly kill: () => Promise<void>;
}

/** Starts a receiver. Resolves when it listens. Rejects if it ends before. */
export async function startReceiver(order: ReceiverOrder): Promise<ReceiverProcess> {
  const child = fork(fileURLToPath(new URL("./receiver-child.ts", import.meta.url)));
  const ended = once(child, "exit");
  const messageNamed = <Name extends ReceiverNews["name"]>(name: Name) =>
    new Promise<Extract<ReceiverNews, { name: Name }>>((resolve) => {
      child.on("message", (message) => {
        const news = message as ReceiverNews;
        if (isNamed(news, name)) resolve(news);
      });
    });
  const handling = messageNamed("handling");
  const listening = messageNamed("listening");
  child.send(order);

  const { url, port } = await Promise.race([
    listening,
    ended.then(([code]) => {
      throw new Error(`the receiver ended with ${String(code)} before it listened`);
    }),
  ]);
  return {
    url,
    port,
    handling: handling.then(() => undefined),
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

function isNamed<Name extends ReceiverNews["name"]>(
  news: ReceiverNews,
  name: Name,
): news is Extract<ReceiverNews, { name: Name }> {
  return news.name === name;
}
