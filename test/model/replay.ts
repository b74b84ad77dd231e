import { AsyncLocalStorage } from "node:async_hooks";
import { onTestFinished, vi } from "vitest";
import {
  createWebhookReceiver,
  type ClaimResult,
  type DeliveryStore,
  type WebhookReceiver,
} from "../../src/index.js";
import { deferred, type Deferred } from "../support/deferred.js";
import { NOW_MS, delivery } from "../support/deliveries.js";
import type { Step } from "./spin.js";

/** A store, and how its lease on a key ends. */
export interface ReplayedStore {
  readonly store: DeliveryStore;
  /** Ends the lease on `key`, which was taken for `STORE_LEASE_MS`. */
  readonly endLease: (key: string) => unknown;
}

/** What a receiver can be made to do wrong. */
export type ReceiverFlaw = "acknowledges" | "forgets its runs" | "has a fixed owner";

/** Long enough to end only when the replay says so. */
export const STORE_LEASE_MS = 3_600_000;
const RETENTION_MS = 7 * 24 * STORE_LEASE_MS;

const LEASE_MS = 9_000;
const DEPENDENCY_TIMEOUT_MS = 2_500;
const HANDLER_TIMEOUT_MS = 47_000;
// The timers of a receiver, by their delay: these options give each purpose delays of its own.
const isRenewal = (ms: number) => ms === LEASE_MS / 3 || ms === LEASE_MS / 10;
const isBackground = (ms: number) => ms === 1_000 || ms === 2_000;
const isHandlerTimeout = (ms: number) =>
  ms === LEASE_MS / 3 || (ms > LEASE_MS && ms <= HANDLER_TIMEOUT_MS);

/** A call of the store that a receiver waits for. */
interface Call {
  readonly method: "claim" | "renew" | "complete" | "release";
  readonly request: number;
  readonly owner: string;
  readonly madeAt: number;
  readonly answer: Deferred<unknown>;
  /** Once the store has it. */
  result?: { readonly value: unknown };
}

interface Timer {
  readonly ms: number;
  readonly madeAt: number;
  readonly run: () => void;
}

/** The receiver of one process, with its own clock and timers. */
interface Host {
  readonly index: number;
  readonly receiver: () => WebhookReceiver;
  nowMs: number;
  readonly timers: Set<Timer>;
  readonly calls: Call[];
  /** The request that is being sent. */
  sending: number;
  isDead: boolean;
}

const hosts = new AsyncLocalStorage<Host>();
let made = 0;

/** Until the test has ended, a receiver has the clock and the timers of its host. */
export function installHosts(): void {
  const { setTimeout: start, clearTimeout: stop } = globalThis;
  const now = performance.now.bind(performance);
  vi.spyOn(performance, "now").mockImplementation(() => hosts.getStore()?.nowMs ?? now());
  vi.stubGlobal(
    "setTimeout",
    (call: (...args: unknown[]) => void, ms: number, ...rest: unknown[]) => {
      const run = () => call(...rest);
      const host = hosts.getStore();
      if (host === undefined) return start(run, ms);
      const timer: Timer = { ms, run, madeAt: (made += 1) };
      host.timers.add(timer);
      return timer;
    },
  );
  vi.stubGlobal("clearTimeout", (timer: unknown) => {
    if (!hosts.getStore()?.timers.delete(timer as Timer)) stop(timer as NodeJS.Timeout);
  });
  onTestFinished(() => {
    vi.restoreAllMocks();
    vi.unstubAllGlobals();
  });
}

const OUTCOMES: Readonly<Record<string, string>> = {
  handler_failed: "failed",
  store_unavailable: "unavailable",
  handler_timeout: "timed_out",
};

/** Every promise that can go on has gone on. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

const resultOf = (value: unknown): string => {
  if (typeof value === "boolean") return value ? "held" : "lost_lease";
  const { state, takeover } = (value ?? { state: "none" }) as ClaimResult & { takeover?: boolean };
  return takeover === true ? "takeover" : state;
};

/** Plays a walk of the model on real receivers with `store`, and finds the first step at which they disagree. */
export class Replay {
  readonly #key: string;
  readonly #stored: ReplayedStore;
  readonly #flaw: ReceiverFlaw | undefined;
  readonly #processOf: (request: number) => number;
  readonly #hosts: Host[] = [];
  readonly #owners: string[] = [];
  readonly #runs: (Deferred<void> & { readonly signal: AbortSignal })[] = [];
  /** Claims that were refused and may still reach the store, by request; then those of killed processes. */
  readonly #strays = new Map<number, { readonly call: Call; isLate: boolean }>();
  #ghost: Call | undefined;
  #events: string[] = [];
  #current = 0;

  constructor(key: string, stored: ReplayedStore, processes: number, flaw?: ReceiverFlaw) {
    this.#key = key;
    this.#stored = stored;
    this.#flaw = flaw;
    this.#processOf = (request) => (processes === 2 ? Math.floor(request / 2) : request);
    for (let index = 0; index < processes; index += 1) this.#hosts.push(this.#startHost(index));
  }

  /** Undefined if all agrees. */
  async play(steps: readonly Step[]): Promise<string | undefined> {
    for (const [index, step] of steps.entries()) {
      this.#events = [];
      this.#current = step.at;
      const result = await this.#take(step);
      await settle();
      const expected = step.answer === "none" ? [] : [`${String(step.at)} ${step.answer}`];
      const [wanted, found] = [
        [step.result, ...expected].join(", "),
        [result, ...this.#events].join(", "),
      ];
      if (wanted === found) continue;
      const way = steps.slice(0, index + 1).map(({ name, at }) => `${name} ${String(at)}`);
      return `${way.join(", ")}: the model says ${wanted}; the receiver does ${found}`;
    }
    return undefined;
  }

  async #take({ name, at, result }: Step): Promise<string> {
    const host = this.#hosts[name === "kill" || name === "thaw" ? at : this.#processOf(at)];
    if (host === undefined) throw new Error("there is no such process");
    switch (name) {
      case "send":
        await this.#send(host, at);
        return "none";
      case "apply":
        return this.#apply(this.#held(host, at, false));
      case "arrive": {
        const call = this.#held(host, at, true);
        return this.#answer(host, call, () => call?.answer.resolve(call.result?.value));
      }
      case "refuse":
      case "refuse_late": {
        const call = this.#held(host, at, false);
        if (call !== undefined && name === "refuse_late") {
          this.#strays.set(at, { call, isLate: false });
        }
        return this.#answer(host, call, () => call?.answer.reject(DOWN));
      }
      case "lose": {
        const call = this.#held(host, at, true);
        return this.#answer(host, call, () => call?.answer.reject(DOWN));
      }
      case "hang":
        return this.#hang(host, at);
      case "ok":
        this.#runs[at]?.resolve();
        return "none";
      case "fail":
        this.#runs[at]?.reject(DOWN);
        return "none";
      case "wait":
        for (let turn = 0; turn < 2 && this.#events.length === 0; turn += 1) {
          await this.#fire(host, isHandlerTimeout);
        }
        return "none";
      case "renew":
      case "renew_lost":
        return this.#renew(host, at, name === "renew", result);
      case "retry":
      case "retry_lost":
        return this.#retry(host, at, name === "retry");
      case "stray": {
        const { call } = this.#strays.get(at) ?? {};
        this.#strays.delete(at);
        return this.#apply(call);
      }
      case "ghost":
        await this.#apply(this.#ghost);
        return "none";
      case "kill":
        this.#kill(host);
        return "none";
      case "thaw":
        host.nowMs += LEASE_MS + 1;
        for (const [request, stray] of this.#strays) {
          if (this.#processOf(request) === at) stray.isLate = true;
        }
        return "none";
      case "end":
      case "jump":
        await this.#stored.endLease(this.#key);
        return "none";
      default:
        // `freeze`, `ack` and `ack_lost`: a process that stands still takes no step, and the answer was given before.
        return "none";
    }
  }

  #startHost(index: number): Host {
    const makeReceiver = (): WebhookReceiver =>
      createWebhookReceiver({
        acceptUnsignedDeliveries: true,
        logger: false,
        now: () => NOW_MS,
        leaseMs: LEASE_MS,
        dependencyTimeoutMs: DEPENDENCY_TIMEOUT_MS,
        handlerTimeoutMs: HANDLER_TIMEOUT_MS,
        store: this.#storeOf(host),
        handlers: {
          new_alarm: (_alarm, { takeover, signal }) => {
            const run = { ...deferred(), signal };
            this.#runs[this.#current] = run;
            this.#events.push(`${String(this.#current)} ${takeover ? "rerun" : "first_run"}`);
            return run.promise;
          },
        },
      });
    let receiver: WebhookReceiver | undefined;
    const host: Host = {
      index,
      receiver: () =>
        this.#flaw === "forgets its runs" ? makeReceiver() : (receiver ??= makeReceiver()),
      nowMs: 0,
      timers: new Set(),
      calls: [],
      sending: 0,
      isDead: false,
    };
    return host;
  }

  /** A store whose calls wait for the replay. */
  #storeOf(host: Host): DeliveryStore {
    const hold = (method: Call["method"], owner: string): Promise<never> => {
      if (method === "claim") this.#owners[host.sending] = owner;
      const request = this.#owners.indexOf(owner);
      const call = { method, request, owner, madeAt: (made += 1), answer: deferred<unknown>() };
      host.calls.push(call);
      return call.answer.promise as Promise<never>;
    };
    return {
      claim: (_key, owner) => hold("claim", owner),
      renew: (_key, owner) => hold("renew", owner),
      complete: (_key, owner) => hold("complete", owner),
      release: (_key, owner) => hold("release", owner),
    };
  }

  async #send(host: Host, request: number): Promise<void> {
    host.sending = request;
    const given = await delivery({ id: this.#key });
    void hosts.run(host, async () => {
      const { outcome } = await host.receiver().receive(given);
      if (host.isDead) return;
      const isFlawed = this.#flaw === "acknowledges" && outcome === "in_flight";
      const answer = isFlawed ? "duplicate" : (OUTCOMES[outcome] ?? outcome);
      this.#events.push(`${String(request)} ${answer}`);
    });
  }

  /** The only call of a request that is not a renewal. */
  #held(host: Host, request: number, hasResult: boolean): Call | undefined {
    const [call, more] = host.calls.filter(
      (one) => one.request === request && one.method !== "renew",
    );
    return more === undefined && (call?.result !== undefined) === hasResult ? call : undefined;
  }

  async #apply(call: Call | undefined): Promise<string> {
    if (call === undefined) return "no call";
    const { store } = this.#stored;
    const times = { leaseMs: STORE_LEASE_MS, retentionMs: RETENTION_MS };
    const owner =
      this.#flaw === "has a fixed owner"
        ? `process ${String(this.#processOf(call.request))}`
        : call.owner;
    const value = await store[call.method](this.#key, owner, times);
    call.result = { value };
    return resultOf(value);
  }

  #answer(host: Host, call: Call | undefined, answer: () => void): string {
    if (call === undefined) return "no call";
    host.calls.splice(host.calls.indexOf(call), 1);
    answer();
    return "none";
  }

  /** Runs timers, whether they are due or not: a timer may be late, and nothing here depends on how late. */
  async #fire(host: Host, which: (ms: number) => boolean): Promise<boolean> {
    const due = [...host.timers].filter(({ ms }) => which(ms));
    for (const timer of due) {
      host.timers.delete(timer);
      hosts.run(host, timer.run);
    }
    await settle();
    return due.length > 0;
  }

  #hang(host: Host, request: number): string {
    const call = host.calls.find((one) => one.request === request);
    const timer = [...host.timers].find(
      ({ ms, madeAt }) => ms === DEPENDENCY_TIMEOUT_MS && madeAt > (call?.madeAt ?? Infinity),
    );
    if (timer === undefined) return "no timer";
    host.timers.delete(timer);
    hosts.run(host, timer.run);
    return "none";
  }

  async #renew(host: Host, request: number, arrives: boolean, wanted: string): Promise<string> {
    const find = () =>
      host.calls.find((call) => call.request === request && call.method === "renew");
    let call = find();
    while (call === undefined && (await this.#fire(host, isRenewal))) call = find();
    const result = await this.#apply(call);
    this.#answer(host, call, () => {
      if (arrives) call?.answer.resolve(call.result?.value);
      else call?.answer.reject(DOWN);
    });
    await settle();
    // After a lost answer only the signal says whether the receiver still counts on its lease.
    const isAborted = this.#runs[request]?.signal.aborted === true;
    if (wanted === "lost_lease" && !isAborted) return "not aborted";
    return arrives || call === undefined ? result : wanted;
  }

  async #retry(host: Host, request: number, arrives: boolean): Promise<string> {
    const isOurs = (call: Call) => call.request === request;
    let found: Call | undefined;
    for (let round = 0; round < 20 && found === undefined; round += 1) {
      const calls = await this.#callsOfRound(host);
      found = calls.find(isOurs);
      // A round ends with a failure, and the next one begins with another call.
      this.#refuse(
        host,
        calls.filter((call) => call !== found),
      );
    }
    const stray = this.#strays.get(request);
    if (arrives && stray?.isLate === true) {
      this.#strays.delete(request);
      this.#ghost = stray.call;
    }
    const result = found === undefined ? "no call" : (await this.#apply(found), "none");
    const known = new Set(host.calls);
    this.#answer(host, found, () => {
      if (arrives) found?.answer.resolve(undefined);
      else found?.answer.reject(DOWN);
    });
    await settle();
    this.#refuse(
      host,
      host.calls.filter((call) => !known.has(call)),
    );
    return result;
  }

  /** The calls that a round of the background makes. */
  async #callsOfRound(host: Host): Promise<Call[]> {
    const known = new Set(host.calls);
    await this.#fire(host, isBackground);
    return host.calls.filter((call) => !known.has(call));
  }

  /** Fails calls before the store has them: the model asked for another one, or they repeat what is done. */
  #refuse(host: Host, calls: readonly Call[]): void {
    for (const call of calls) this.#answer(host, call, () => call.answer.reject(DOWN));
  }

  #kill(host: Host): void {
    host.isDead = true;
    this.#hosts[host.index] = this.#startHost(host.index);
    for (const call of host.calls) {
      if (call.method === "claim" && call.result === undefined) this.#ghost = call;
    }
    for (const [request, { call }] of this.#strays) {
      if (this.#processOf(request) !== host.index) continue;
      this.#strays.delete(request);
      this.#ghost = call;
    }
  }
}

const DOWN = new Error("the store is down");
