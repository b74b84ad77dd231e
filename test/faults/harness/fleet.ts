import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import type { Interruption } from "../checker/history.js";
import { createSender } from "../../../kit/sending/sender.js";
import type { Sender } from "../../../kit/sending/target.js";
import { SLOTS } from "../plan/schedule.js";
import { now } from "./clock.js";
import type { ReceiverConfig } from "../receivers/receiver-config.js";

/** A receiver in its own process. */
type ReceiverProcess = ReturnType<typeof startReceiver>;

/** The receivers, as behind a load balancer. */
export type Fleet = Awaited<ReturnType<typeof startFleet>>;

interface Slot {
  process: ReceiverProcess;
  receiver: number;
  sender: Sender | undefined;
  isStopped: boolean;
  isWanted: boolean;
}

const SEND_TIMEOUT_MS = 4_000;
const KEPT_CHARACTERS = 2_000;

/**
 * Starts `count` receivers. `configOf` gives the configuration of a process by its number. Resolves when they listen.
 */
export async function startFleet(
  program: string,
  configOf: (receiver: number, slot: number) => ReceiverConfig,
  count = SLOTS,
) {
  const interruptions: Interruption[] = [];
  const unexpectedExits: string[] = [];
  let receivers = 0;
  let isHealed = false;
  let isClosed = false;

  const start = (at: number): Slot => {
    receivers += 1;
    const receiver = receivers;
    const config = configOf(receiver, at);
    const child = startReceiver(program, config);
    const slot: Slot = {
      process: child,
      receiver,
      sender: undefined,
      isStopped: false,
      isWanted: true,
    };
    if (isHealed) child.heal();
    void child.port.then(
      (port) => {
        if (!slot.isWanted) return;
        const url = `http://127.0.0.1:${port}/`;
        slot.sender = createSender(url, { timeoutMs: SEND_TIMEOUT_MS });
      },
      () => undefined,
    );
    void child.ended.then((reason) => {
      const { isWanted } = slot;
      retire(slot);
      if (!isWanted || isClosed) return;
      const killedAt = now();
      if (config.handler.killing !== undefined && child.isKilled()) {
        interruptions.push({ kind: "kill", receiver, from: killedAt, to: killedAt });
      } else unexpectedExits.push(reason);
      slots[at] = start(at);
    });
    return slot;
  };

  const retire = (slot: Slot) => {
    slot.isWanted = false;
    slot.sender?.close();
    slot.sender = undefined;
  };

  const slots: Slot[] = [];
  for (let at = 0; at < count; at++) slots.push(start(at));

  /** The first receiver from `slot` on that can be interrupted. */
  const find = (slot: number, test: (one: Slot) => boolean): number | undefined => {
    const order = Array.from({ length: SLOTS }, (_, offset) => (slot + offset) % SLOTS);
    return order.find((at) => {
      const one = slots[at];
      return one?.isWanted === true && one.sender !== undefined && test(one);
    });
  };

  const kill = async (at: number) => {
    const slot = slots[at];
    if (slot === undefined) return;
    const { process: child, receiver } = slot;
    const from = now();
    retire(slot);
    child.signal("SIGKILL");
    await child.ended;
    interruptions.push({ kind: "kill", receiver, from, to: now() });
  };

  const listening = async () => {
    while (slots.some(({ sender }) => sender === undefined)) await wait(20);
  };

  const fleet = {
    /** Senders to the listening receivers, including stopped ones. */
    senders: () => slots.flatMap(({ sender }) => (sender === undefined ? [] : [sender])),
    /** Sends SIGKILL to the first listening receiver and starts a new process after `downMs`. False at the end of the run. */
    async kill(slot: number, downMs: number) {
      let at = find(slot, () => true);
      for (; at === undefined && !isClosed; at = find(slot, () => true)) await wait(10);
      if (at === undefined) return false;
      await kill(at);
      await wait(downMs);
      if (!isClosed) slots[at] = start(at);
      return true;
    },
    /** Sends SIGSTOP, and SIGCONT after `ms`. False if no process runs in the slot. */
    async stop(slot: number, ms: number) {
      const at = find(slot, ({ isStopped }) => !isStopped);
      const found = at === undefined ? undefined : slots[at];
      if (found === undefined) return false;
      found.isStopped = true;
      const from = now();
      found.process.signal("SIGSTOP");
      await wait(ms);
      found.process.signal("SIGCONT");
      interruptions.push({ kind: "stop", receiver: found.receiver, from, to: now() });
      found.isStopped = false;
      return true;
    },
    /** The wall clock of a receiver jumps by `ms`. False if no process runs in the slot. */
    jump(slot: number, ms: number) {
      const at = find(slot, () => true);
      if (at !== undefined) slots[at]?.process.jump(ms);
      return Promise.resolve(at !== undefined);
    },
    /** Two receivers replay all dead jobs at the same moment. Resolves when both have; false if there are no two. */
    async replay(slot: number) {
      const order = [...slots.slice(slot), ...slots.slice(0, slot)];
      const two = order.filter((one) => one.isWanted && one.sender !== undefined).slice(0, 2);
      await Promise.all(two.map(({ process: child }) => child.replay()));
      return two.length === 2;
    },
    /** Resolves when all receivers listen and their handlers no longer fail. */
    async heal() {
      isHealed = true;
      for (const { process: child } of slots) child.heal();
      await listening();
    },
    /** The faults that the receivers had. */
    interruptions,
    /** Last output of the receivers that ended by themselves. */
    unexpectedExits,
    /** Kills the remaining processes. */
    close: async () => {
      isClosed = true;
      for (const slot of slots) {
        retire(slot);
        slot.process.signal("SIGKILL");
      }
      await Promise.all(slots.map(({ process: child }) => child.ended));
    },
  };
  try {
    await Promise.race([listening(), failing(slots)]);
  } catch (error) {
    await fleet.close();
    throw error;
  }
  return fleet;
}

/** Rejects if one of the first processes does not start to listen. */
async function failing(slots: readonly Slot[]): Promise<never> {
  const ports = slots.map(({ process: child }) => child.port);
  await Promise.all(ports);
  return new Promise(() => undefined);
}

/** Starts the receiver's program. */
function startReceiver(program: string, config: ReceiverConfig) {
  const child = spawn(process.execPath, ["--no-warnings", program, JSON.stringify(config)]);
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-KEPT_CHARACTERS);
  });
  // Input for a killed process is lost.
  child.stdin.on("error", () => undefined);
  // Not `close`: the pipes of a killed process may never be read to their ends.
  const ended = once(child, "exit").then(
    ([code, signal]: unknown[]) =>
      `receiver ${config.receiver} ended by itself (${String(code ?? signal)}): ${errors}`,
  );
  const lines = createInterface({ input: child.stdout });
  const port = new Promise<number>((resolve, reject) => {
    lines.once("line", (line) => resolve(Number(line)));
    void ended.then((reason) => reject(new Error(reason)));
  });
  port.catch(() => undefined);
  return {
    /** Its port. Rejects if the process ends before it listens. */
    port,
    /** Resolves with its error output when it has ended. */
    ended,
    /** Whether SIGKILL has ended it. */
    isKilled: () => child.signalCode === "SIGKILL",
    signal: (name: "SIGKILL" | "SIGSTOP" | "SIGCONT") => child.kill(name),
    /** Makes its handlers stop failing. */
    heal: () => child.stdin.write("heal\n"),
    /** Makes it replay all dead jobs. Resolves when it has, or when the process has ended. */
    async replay() {
      const done = once(lines, "line");
      child.stdin.write("replay\n");
      await Promise.race([done, ended]);
    },
    /** Makes its wall clock jump. */
    jump: (ms: number) => child.stdin.write(`jump ${ms}\n`),
  };
}
