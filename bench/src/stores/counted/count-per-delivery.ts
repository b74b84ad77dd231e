import type { Engine } from "../engines/engine.js";
import type { LabOptions } from "../lab-options.js";
import { connect, sendNew, type LoadGenerator } from "../load/load-generator.js";
import { startReceiver, type ContenderName } from "../receivers/receiver.js";
import type { RowName } from "../rows.js";
import { tracedSyncs } from "./traced-syncs.js";
import { startTurnProxy } from "./turn-proxy.js";

/** What one delivery costs in numbers that no clock can tell. */
export interface Counted {
  /** Undefined if the engine runs in the receiver. */
  readonly roundTrips: number | undefined;
  /** Undefined if nothing can count them here. */
  readonly syncs: number | undefined;
}

const DELIVERIES_PER_CONNECTION = 12;
const LEAST_DELIVERIES = 200;

/** The counts at each number of connections. */
export type CountedLevels = ReadonlyMap<number, ReadonlyMap<ContenderName, Counted>>;

/** Counts round trips and syncs in a short run of its own, since counting takes time. */
export async function countPerDelivery(plan: {
  readonly row: RowName;
  readonly names: readonly ContenderName[];
  readonly engine: Engine;
  readonly enginePids: readonly number[];
  readonly load: LoadGenerator;
  readonly options: LabOptions;
}): Promise<CountedLevels> {
  const { engine, names, load, options } = plan;
  const levels = new Map<number, Map<ContenderName, Counted>>();
  for (const [number, name] of names.entries()) {
    const proxy = engine.port === undefined ? undefined : await startTurnProxy(engine.port);
    const through = proxy === undefined ? {} : { enginePort: proxy.port };
    const receiver = await startReceiver({ ...plan, name, number, ...through });
    const pid = plan.enginePids[0] ?? receiver.pid;
    for (const connections of options.connections) {
      const count = Math.max(LEAST_DELIVERIES, DELIVERIES_PER_CONNECTION * connections);
      await connect(load, receiver, connections);
      // Opens the connections to the engine.
      await sendNew(load, receiver, connections * 2);
      const turnsBefore = proxy?.turns() ?? 0;
      let turns = 0;
      const work = async (): Promise<void> => {
        await sendNew(load, receiver, count);
        turns = (proxy?.turns() ?? 0) - turnsBefore;
      };
      const syncs = await syncsDuring(engine, pid, work);
      const counted = {
        roundTrips: proxy === undefined ? undefined : turns / count,
        syncs: syncs === undefined ? undefined : syncs / count,
      };
      levels.set(connections, (levels.get(connections) ?? new Map()).set(name, counted));
    }
    await receiver.stop();
    proxy?.close();
  }
  return levels;
}

async function syncsDuring(
  { syncs }: Engine,
  pid: number,
  work: () => Promise<void>,
): Promise<number | undefined> {
  if (syncs === undefined) return tracedSyncs(pid, work);
  const before = await syncs();
  await work();
  return (await syncs()) - before;
}
