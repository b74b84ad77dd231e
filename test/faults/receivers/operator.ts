import { createInterface } from "node:readline";
import type { DeadDeliveries } from "identity-gateway-webhooks/nats";
import type { Ledger } from "./ledger.js";
import type { ReceiverConfig } from "./receiver-config.js";

/** Replays all dead jobs at each line "replay" on standard input, and then prints a line. */
export function startOperator(
  dead: DeadDeliveries,
  { flaw }: ReceiverConfig,
  ledger: Ledger,
): void {
  const replayAll = async (): Promise<void> => {
    const listed = await dead.list({ limit: 1_000 });
    const { replayed, notFound } = await dead.replay("all");
    ledger.write({ kind: "replayed", count: replayed.length, notFound: notFound.length });
    if (flaw === "discards the dead jobs that it has listed") {
      await dead.discard(listed.map(({ id }) => id));
    }
  };
  createInterface({ input: process.stdin }).on("line", (line) => {
    if (line !== "replay") return;
    // What it could not replay is still dead, and the next one replays it.
    void replayAll()
      .then(undefined, () => undefined)
      .then(() => process.stdout.write("replayed\n"));
  });
}
