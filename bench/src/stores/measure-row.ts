import { execFileSync } from "node:child_process";
import { shuffled } from "../statistics.js";
import { countPerDelivery, type Counted } from "./counted/count-per-delivery.js";
import type { LabOptions } from "./lab-options.js";
import {
  connect,
  sendNew,
  sendSigned,
  sign,
  startLoadGenerator,
  wrongOutcome,
  type LoadGenerator,
} from "./load/load-generator.js";
import { childrenOf, cpuOfTrees } from "./process-tree.js";
import { startReceiver, type ContenderName, type Receiver } from "./receivers/receiver.js";
import { ROWS, type RowName } from "./rows.js";

/** What one contender did in one round. */
export interface RoundSample {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Per delivery. */
  readonly receiverUs: number;
  /** Per delivery. Undefined if the engine runs in the receiver. */
  readonly engineUs: number | undefined;
  readonly delayMs: number;
}

/** One row at one number of connections. */
export interface LevelResult {
  readonly row: RowName;
  readonly connections: number;
  /** The samples of each contender, in the order of the rounds. */
  readonly samples: ReadonlyMap<ContenderName, readonly RoundSample[]>;
  readonly counted: ReadonlyMap<ContenderName, Counted>;
}

const WARM_UP_SECONDS = 3;
/** A short round that shows how many deliveries fill a round. */
const CALIBRATION_SECONDS = 0.3;

/** Measures one row on an engine of its own. `isCounted`: also the round trips and fsyncs of a delivery. */
export async function measureRow(
  row: RowName,
  options: LabOptions,
  isCounted = true,
): Promise<LevelResult[]> {
  const names: ContenderName[] =
    options.before === undefined ? ["ours", "by hand"] : ["ours", "before", "by hand"];
  const running = new Set(childrenOf(process.pid));
  const engine = await (await ROWS[row].start())(names.length);
  const enginePids = childrenOf(process.pid).filter((pid) => !running.has(pid));
  const load = startLoadGenerator(options);
  const receivers: Receiver[] = [];
  try {
    for (const [number, name] of names.entries()) {
      receivers.push(await startReceiver({ row, name, number, engine, options }));
    }
    if (options.pin) pin([...enginePids, ...receivers.map(({ pid }) => pid)], load.pid);
    process.stderr.write(`${row}: the engine and ${receivers.length} receivers run\n`);
    const widest = Math.max(...options.connections);
    for (const receiver of receivers) {
      await connect(load, receiver, widest);
      await rateOf(load, receiver, widest, WARM_UP_SECONDS);
    }
    const levels: LevelResult[] = [];
    for (const connections of options.connections) {
      const samples = await measureLevel(load, receivers, enginePids, connections, options);
      levels.push({ row, connections, samples, counted: new Map() });
    }
    await Promise.all(receivers.map((receiver) => receiver.stop()));
    if (!isCounted) return levels;
    const perDelivery = await countPerDelivery({ row, names, engine, enginePids, load, options });
    return levels.map((level) => ({
      ...level,
      counted: perDelivery.get(level.connections) ?? new Map(),
    }));
  } finally {
    await Promise.all(receivers.map((receiver) => receiver.stop()));
    await load.stop();
    await engine.close();
  }
}

async function measureLevel(
  load: LoadGenerator,
  receivers: readonly Receiver[],
  enginePids: readonly number[],
  connections: number,
  { rounds, seconds }: LabOptions,
): Promise<Map<ContenderName, RoundSample[]>> {
  const samples = new Map<ContenderName, RoundSample[]>();
  const counts = new Map<ContenderName, number>();
  for (const receiver of receivers) {
    await connect(load, receiver, connections);
    const rate = await rateOf(load, receiver, connections, CALIBRATION_SECONDS);
    counts.set(receiver.name, Math.max(4 * connections, Math.ceil(rate * seconds)));
    samples.set(receiver.name, []);
  }
  for (let round = 0; round < rounds; round++) {
    for (const receiver of shuffled(receivers)) {
      const count = counts.get(receiver.name) ?? 0;
      const sample = await measureRound(load, receiver, enginePids, count);
      samples.get(receiver.name)?.push(sample);
    }
  }
  return samples;
}

async function measureRound(
  load: LoadGenerator,
  receiver: Receiver,
  enginePids: readonly number[],
  count: number,
): Promise<RoundSample> {
  await sign(load, count);
  await receiver.begin();
  const engineBefore = cpuOfTrees(enginePids);
  const sent = await sendSigned(load, receiver, count);
  const engineUs = (cpuOfTrees(enginePids) - engineBefore) / count;
  const { handled, cpuUs, delayMs } = await receiver.end();
  if (handled !== count)
    throw wrongOutcome(receiver, `${handled} of ${count} deliveries were handled`);
  return {
    perSecond: count / sent.seconds,
    p50Ms: sent.p50Ms,
    p99Ms: sent.p99Ms,
    receiverUs: cpuUs / count,
    engineUs: enginePids.length === 0 ? undefined : engineUs,
    delayMs,
  };
}

/** Sends for about so many seconds, and returns the deliveries per second. */
async function rateOf(
  load: LoadGenerator,
  receiver: Receiver,
  connections: number,
  seconds: number,
): Promise<number> {
  let count = 2 * connections;
  for (;;) {
    const sent = await sendNew(load, receiver, count);
    if (sent.seconds >= seconds / 2) return count / sent.seconds;
    const factor = Math.min(8, seconds / sent.seconds);
    count = Math.ceil(count * Math.max(1.5, factor));
  }
}

/** Servers on the first core, the load generator on the second. */
function pin(servers: readonly number[], load: number): void {
  const set = (core: string, pid: number): unknown =>
    execFileSync("taskset", ["-a", "-c", "-p", core, String(pid)], { stdio: "ignore" });
  for (const pid of servers) set("0", pid);
  set("1", load);
}
