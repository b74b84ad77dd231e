import { randomInt, randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";
import {
  createGatewayTwin,
  sampleAlarm,
  TEST_SECRET,
  type TwinAttempt,
  type TwinDelivery,
} from "identity-gateway-webhooks/testing";
import type { Ledger } from "./ledger.js";
import { startReceiver } from "./receiver-process.js";
import type { ReceiverOrder } from "./receiver-messages.js";
import { DUPLICATE, HANDLED, IN_FLIGHT, NO_ANSWER, type Section } from "./row.js";
import { rowsOf, type Step } from "./steps.js";

const ALARMS = 100;
/** How often to send an alarm while another process seems to handle it. */
const RETRY_MS = 500;
/** How long to wait for a lease to end. */
const MAX_LEASES = 5;

/** The result of a restart: the table, and the receiver's URL. */
export interface Restart {
  readonly url: string;
  readonly sections: readonly Section[];
  /** How many effects the handlers of both processes recorded. */
  readonly effects: number;
}

/**
 * Delivers alarms to a receiver, kills it (SIGKILL) while it handles one of them, starts it again on the
 * same store and port, and delivers them all again.
 */
export async function deliverAcrossRestart(
  order: Omit<ReceiverOrder, "port" | "cutOffId">,
  ledger: Ledger,
): Promise<Restart> {
  const [id, cutOffId, newId] = [randomUUID(), randomUUID(), randomUUID()] as const;
  const first = await startReceiver({ ...order, port: 0, cutOffId });
  const gateway = createGateway(first.url);

  const before = [await gateway.send(id), await gateway.send(id)];
  const manyBefore = await gateway.sendMany();
  const cut = gateway.send(cutOffId);
  // If its handler does not run, an answer comes, and the table shows it.
  await Promise.race([first.handling, cut]);
  await first.kill();
  const cutOff = [await cut];

  const second = await startReceiver({ ...order, port: first.port });
  const after = [await gateway.send(id)];
  const manyAfter = await gateway.sendMany();
  const retries = await sendUntilFree(() => gateway.send(cutOffId), order.leaseMs);
  retries.push(await gateway.send(cutOffId));
  const fresh = [await gateway.send(newId)];
  await gateway.close();
  await second.kill();

  const effects = await idsIn(order.effects);
  for (const effect of effects) ledger.count(undefined, { id: effect });

  const rows = (delivery: string, attempts: readonly TwinAttempt[], ...steps: readonly Step[]) =>
    rowsOf(ledger, delivery, [{ attempts }], ...steps);
  const many = `${ALARMS} alarms`;
  const cutOffAlarm = "Alarm cut off in its handler";
  const held = retries.length - 2;
  const whileHeld: Step[] = held > 0 ? [[`${times(held)} within its lease`, IN_FLIGHT, held]] : [];
  return {
    url: first.url,
    effects: effects.length,
    sections: [
      {
        title: "Before the restart",
        rows: [
          ...rows("Alarm", before, ["signed and sent", HANDLED], ["sent again", DUPLICATE]),
          ...rowsOf(ledger, many, manyBefore, ["signed and sent", HANDLED]),
          ...rows(cutOffAlarm, cutOff, ["receiver killed (SIGKILL)", NO_ANSWER]),
        ],
      },
      {
        title: "After it: a new process on the same store",
        rows: [
          ...rows("Alarm", after, ["sent again", DUPLICATE]),
          ...rowsOf(ledger, many, manyAfter, ["sent again", DUPLICATE]),
          ...rows(
            cutOffAlarm,
            retries,
            ...whileHeld,
            ["sent again after its lease", HANDLED],
            ["sent once more", DUPLICATE],
          ),
          ...rows("New alarm", fresh, ["signed and sent", HANDLED]),
        ],
      },
    ],
  };
}

/** A gateway that sends each request on command. */
function createGateway(target: string) {
  // The same seed gives the same ids the second time.
  const seed = randomInt(2 ** 32 - 1);
  const options = { target, secret: TEST_SECRET, retry: { attempts: 1 } };
  const twin = createGatewayTwin(options);
  return {
    async send(id: string): Promise<TwinAttempt> {
      const { attempts } = await twin.deliver({ alarm: sampleAlarm() }, { id });
      const [attempt] = attempts;
      if (attempt === undefined) throw new Error("nothing was sent");
      return attempt;
    },
    async sendMany(): Promise<readonly TwinDelivery[]> {
      const sender = createGatewayTwin({ ...options, seed });
      const alarms = Array.from({ length: ALARMS }, (_, index) => ({
        alarm: sampleAlarm({}, { seed: index }),
      }));
      const { deliveries } = await sender.deliverMany(alarms, { concurrency: 10 });
      await sender.close();
      return deliveries;
    },
    close: twin.close,
  };
}

/** Sends until the lease has ended. Returns every attempt, including the last one. */
async function sendUntilFree(
  send: () => Promise<TwinAttempt>,
  leaseMs: number,
): Promise<TwinAttempt[]> {
  const attempts = [await send()];
  const deadline = performance.now() + MAX_LEASES * leaseMs;
  while (attempts.at(-1)?.outcome === IN_FLIGHT.outcome && performance.now() < deadline) {
    await wait(RETRY_MS);
    attempts.push(await send());
  }
  return attempts;
}

async function idsIn(file: string): Promise<readonly string[]> {
  const lines = await readFile(file, "utf8");
  return lines.split("\n").filter((line) => line !== "");
}

function times(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}
