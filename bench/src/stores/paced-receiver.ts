import { readFileSync, readdirSync } from "node:fs";
import { readLabOptions } from "./lab-options.js";
import type { RoundResult } from "./load/keep-alive-client.js";
import { connect, startLoadGenerator } from "./load/load-generator.js";
import { startReceiver, type ContenderName } from "./receivers/receiver.js";
import type { ReceiverRound } from "./receivers/receiver-process.js";
import { ROWS, type RowName } from "./rows.js";

/** What a receiver does under an even load. */
export interface Section extends RoundResult, ReceiverRound {
  readonly rssMb: number;
  readonly descriptors: number;
}

/**
 * Starts a receiver, and calls `use` with a function that sends it so many deliveries a second for some seconds. Leaves no
 * process behind. @throws Error if a delivery is not answered 200.
 */
export async function underEvenLoad<T>(
  row: RowName,
  name: ContenderName,
  { perSecond, connections }: { readonly perSecond: number; readonly connections: number },
  use: (section: (seconds: number) => Promise<Section>) => Promise<T>,
): Promise<T> {
  const options = readLabOptions([]);
  const engine = await (await ROWS[row].start())(1);
  const load = startLoadGenerator(options);
  try {
    const receiver = await startReceiver({ row, name, number: 0, engine, options });
    try {
      await connect(load, receiver, connections);
      return await use(async (seconds) => {
        await receiver.begin();
        const order = { order: "pace", contender: name, perSecond, seconds } as const;
        const sent = (await load.ask(order)) as RoundResult;
        if (sent.good < perSecond * seconds) throw new Error("not each was answered 200");
        return { ...sent, ...(await receiver.end()), ...resourcesOf(receiver.pid) };
      });
    } finally {
      await receiver.stop();
    }
  } finally {
    await load.stop();
    await engine.close();
  }
}

function resourcesOf(pid: number): Pick<Section, "rssMb" | "descriptors"> {
  const status = readFileSync(`/proc/${String(pid)}/status`, "latin1");
  return {
    rssMb: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024,
    descriptors: readdirSync(`/proc/${String(pid)}/fd`).length,
  };
}
