import { startHelper } from "../child-process.js";
import type { Engine } from "../engines/engine.js";
import type { LabOptions } from "../lab-options.js";
import type { RowName } from "../rows.js";
import type { ReceiverOrder, ReceiverRound } from "./receiver-process.js";

/** A receiver of the lab. `before` is ours, in an earlier build. */
export type ContenderName = "ours" | "before" | "by hand";

/** A running receiver in its own process. */
export interface Receiver {
  readonly row: RowName;
  readonly name: ContenderName;
  readonly pid: number;
  /** Where it listens. */
  readonly port: number;
  readonly begin: () => Promise<unknown>;
  readonly end: () => Promise<ReceiverRound>;
  readonly stop: () => Promise<void>;
}

/** What a receiver needs to start. */
export interface ReceiverPlan {
  readonly row: RowName;
  readonly name: ContenderName;
  /** The contender's number, which gives its database. */
  readonly number: number;
  readonly engine: Engine;
  readonly options: LabOptions;
  /** The port at which it reaches its engine, if not the engine's own. */
  readonly enginePort?: number;
}

/** Starts a receiver and waits until it listens. */
export async function startReceiver(plan: ReceiverPlan): Promise<Receiver> {
  const { row, name, number, engine, options } = plan;
  const folders = { ours: options.package, before: options.before, "by hand": undefined };
  const process = startHelper<ReceiverOrder, unknown>("./stores/receiver-process.js", options);
  const place = {
    port: plan.enginePort ?? engine.port ?? 0,
    database: engine.databaseOf(number),
    folder: engine.folder,
  };
  const port = (await process.ask({
    order: "listen",
    row,
    place,
    package: folders[name],
  } as ReceiverOrder)) as number;
  return {
    row,
    name,
    pid: process.pid,
    port,
    begin: () => process.ask({ order: "begin" }),
    end: async () => (await process.ask({ order: "end" })) as ReceiverRound,
    stop: process.stop,
  };
}
