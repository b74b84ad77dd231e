// A receiver or a worker in its own process, so that a test can kill it:
// tsx inbox-process.ts <pg-boss|bullmq> <url> <queue> <receiver|worker>
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import pg from "pg";
import { nodeHandler } from "../../../adapters/node.js";
import { inbox } from "../../../src/inbox/index.js";
import { createWebhookReceiver } from "../../../src/index.js";
import { postgresStore } from "../../../src/stores/postgres/index.js";
import { TEST_SECRET } from "../deliveries.js";
import { openBullmqQueue } from "./inbox-bullmq-engine.js";
import type { InboxQueue } from "./inbox-engine.js";
import { openPgBossQueue, startPgBoss } from "./inbox-pg-boss-engine.js";

const [engine, url = "", name = "", role] = process.argv.slice(2);

/** Prints a line that the test waits for. */
function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function open(): Promise<InboxQueue> {
  if (engine === "bullmq") return openBullmqQueue(url, name);
  const pool = new pg.Pool({ connectionString: url });
  return openPgBossQueue(await startPgBoss(url), postgresStore({ pool }), name);
}

const queue = await open();
if (role === "receiver") {
  const handlers = inbox({ driver: queue.enqueue });
  const handle = nodeHandler(
    createWebhookReceiver({ secret: TEST_SECRET, handlers, logger: false }),
  );
  const server = createServer((req, res) => {
    handle(req, res);
  });
  server.listen(0, "127.0.0.1", () => {
    say(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  });
} else {
  queue.consume({
    handlers: {
      new_alarm: async (alarm, { takeover }) => {
        say(`began ${alarm.account_id}, takeover ${takeover}`);
        // Runs until the process is killed.
        await new Promise(() => undefined);
      },
    },
    logger: false,
  });
  say("working");
}
