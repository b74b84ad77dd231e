import { AsyncLocalStorage } from "node:async_hooks";
import type { ClaimResult, DeliveryStore, WebhookHandlers } from "../../src/index.js";
import { deferred, type Deferred } from "../support/deferred.js";
import type { Step } from "./spin.js";

/** A store, and what happens to it. */
export interface ReplayedStore {
  readonly store: DeliveryStore;
  /** Ends the lease on `key`, which was taken for `STORE_LEASE_MS`. `at` is the number in the step. */
  readonly endLease: (key: string, at: number, owner?: string) => unknown;
  /** What the store does when the process of `owner` is killed. Default: nothing. */
  readonly kill?: (owner: string) => unknown;
  /** Ends what a walk has left open. */
  readonly end?: () => unknown;
  /** The owner that a flawed receiver gives in place of one of its own. */
  readonly ownerOf?: (process: number) => string;
}

/** What the code of one process is given. */
export interface Tools {
  readonly key: string;
  /** Its calls wait for the replay. */
  readonly store: DeliveryStore;
  readonly handlers: WebhookHandlers;
  /** Another call of `request` that waits for the replay, which then applies it. */
  readonly hold: (request: number, apply: () => unknown) => Promise<unknown>;
  readonly say: (request: number, answer: string) => void;
}

/** The code that is played. */
export interface Subject {
  /** Starts it in a process: a function that takes a request, and resolves to its answer, if it has one. */
  start(tools: Tools): (request: number) => Promise<string | undefined>;
  /** The broker gives up who holds a message. */
  lapse?(message: number): void;
}

/** Long enough to end only when the replay says so. */
export const STORE_LEASE_MS = 3_600_000;
const TIMES = { leaseMs: STORE_LEASE_MS, retentionMs: 7 * 24 * STORE_LEASE_MS };

/** Options that give each timer of a receiver a delay of its own. */
export const REPLAYED_TIMES = {
  leaseMs: 9_000,
  dependencyTimeoutMs: 2_500,
  handlerTimeoutMs: 47_000,
};
const { leaseMs: LEASE_MS, dependencyTimeoutMs, handlerTimeoutMs } = REPLAYED_TIMES;
const isRenewal = (ms: number) => ms === LEASE_MS / 3 || ms === LEASE_MS / 10;
const isBackground = (ms: number) => ms === 1_000 || ms === 2_000;
const isHandlerTimeout = (ms: number) =>
  ms === LEASE_MS / 3 || (ms > LEASE_MS && ms <= handlerTimeoutMs);
/** More turns of the event loop than a digest takes. */
const MOST_TURNS = 100_000;

/** A call of the store that a receiver waits for. */
interface Call {
  readonly method: "claim" | "renew" | "complete" | "release" | "settle";
  readonly request: number;
  readonly apply: () => unknown;
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

/** One process, with its own clock and timers. */
interface Host {
  readonly index: number;
  deliver: (request: number) => Promise<string | undefined>;
  nowMs: number;
  readonly timers: Set<Timer>;
  readonly calls: Call[];
  /** The request that is being sent. */
  sending: number;
  isDead: boolean;
}

const hosts = new AsyncLocalStorage<Host>();
let made = 0;

/** Gives each host a clock and timers of its own, until the returned function is called. */
export function installHosts(): () => void {
  const { setTimeout: start, clearTimeout: stop } = globalThis;
  const now = performance.now.bind(performance);
  const startInHost = (call: (...args: unknown[]) => void, ms: number, ...rest: unknown[]) => {
    const run = () => {
      call(...rest);
    };
    const host = hosts.getStore();
    if (host === undefined) return start(run, ms);
    const timer: Timer = { ms, run, madeAt: (made += 1) };
    host.timers.add(timer);
    return timer;
  };
  const stopInHost = (timer: unknown) => {
    if (!hosts.getStore()?.timers.delete(timer as Timer)) stop(timer as NodeJS.Timeout);
  };
  const install = (setTimeout: unknown, clearTimeout: unknown, now: unknown) => {
    Object.assign(globalThis, { setTimeout, clearTimeout });
    Object.assign(performance, { now });
  };
  install(startInHost, stopInHost, () => hosts.getStore()?.nowMs ?? now());
  return () => {
    install(start, stop, now);
  };
}

/** Every promise that can go on has gone on. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

const resultOf = (value: unknown): string => {
  if (typeof value === "boolean") return value ? "held" : "lost_lease";
  const { state, takeover } = (value ?? { state: "none" }) as ClaimResult & { takeover?: boolean };
  return takeover === true ? "takeover" : state;
};

/** Plays a walk of a model on real code with `store`, and finds the first step at which they disagree. */
export class Replay {
  readonly #key: string;
  readonly #stored: ReplayedStore;
  readonly #subject: Subject;
  readonly #processOf: (request: number) => number;
  readonly #hosts: Host[] = [];
  readonly #owners: string[] = [];
  readonly #runs: (Deferred<void> & { readonly signal: AbortSignal })[] = [];
  /** Claims that were refused and may still reach the store, by request; then those of killed processes. */
  readonly #strays = new Map<number, { readonly call: Call; isLate: boolean }>();
  #ghost: Call | undefined;
  #events: string[] = [];
  #current = 0;

  constructor(key: string, stored: ReplayedStore, subject: Subject, processes: 2 | 3) {
    this.#key = key;
    this.#stored = stored;
    this.#subject = subject;
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
      return `${way.join(", ")}: the model says ${wanted}; the code does ${found}`;
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
      case "again":
        return (await this.#fire(host, isBackground)) ? "none" : "no timer";
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
        await this.#kill(host);
        return "none";
      case "thaw":
        host.nowMs += LEASE_MS + 1;
        for (const [request, stray] of this.#strays) {
          if (this.#processOf(request) === at) stray.isLate = true;
        }
        return "none";
      case "end":
      case "jump":
        await this.#stored.endLease(this.#key, at, this.#owners[at]);
        return "none";
      case "lapse":
        this.#subject.lapse?.(at);
        return "none";
      default:
        // `freeze`, `ack` and `ack_lost`: a process that stands still takes no step, and the answer was given before.
        return "none";
    }
  }

  #startHost(index: number): Host {
    const host: Host = {
      index,
      deliver: () => Promise.resolve(undefined),
      nowMs: 0,
      timers: new Set(),
      calls: [],
      sending: 0,
      isDead: false,
    };
    host.deliver = this.#subject.start({
      key: this.#key,
      store: this.#storeOf(host),
      handlers: {
        new_alarm: (_alarm, { takeover, signal }) => {
          const run = { ...deferred(), signal };
          this.#runs[this.#current] = run;
          this.#say(this.#current, takeover ? "rerun" : "first_run");
          return run.promise;
        },
      },
      hold: (request, apply) => this.#hold(host, "settle", request, apply),
      say: (request, answer) => {
        if (!host.isDead) this.#say(request, answer);
      },
    });
    return host;
  }

  #say(request: number, answer: string): void {
    this.#events.push(`${String(request)} ${answer}`);
  }

  #hold(host: Host, method: Call["method"], request: number, apply: () => unknown) {
    const call = { method, request, apply, madeAt: (made += 1), answer: deferred<unknown>() };
    host.calls.push(call);
    return call.answer.promise as Promise<never>;
  }

  /** A store whose calls wait for the replay. */
  #storeOf(host: Host): DeliveryStore {
    const { store, ownerOf = () => undefined } = this.#stored;
    const hold = (method: keyof DeliveryStore, key: string, owner: string) => {
      // The second claim of a request may come while another one is being sent.
      const isNew = method === "claim" && !this.#owners.includes(owner);
      if (isNew) this.#owners[host.sending] = owner;
      const given = ownerOf(host.index) ?? owner;
      const apply = () => store[method as "claim"](key, given, TIMES);
      return this.#hold(host, method as "claim", this.#owners.indexOf(owner), apply);
    };
    return {
      claim: (key, owner) => hold("claim", key, owner),
      renew: (key, owner) => hold("renew", key, owner),
      complete: (key, owner) => hold("complete", key, owner),
      release: (key, owner) => hold("release", key, owner),
    };
  }

  async #send(host: Host, request: number): Promise<void> {
    host.sending = request;
    const { length } = host.calls;
    void hosts.run(host, async () => {
      const answer = await host.deliver(request);
      if (!host.isDead && answer !== undefined) this.#say(request, answer);
    });
    for (let turn = 0; turn < MOST_TURNS; turn += 1) {
      if (host.calls.length > length || this.#events.length > 0) return;
      await settle();
    }
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
    const value = await call.apply();
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
      ({ ms, madeAt }) => ms === dependencyTimeoutMs && madeAt > (call?.madeAt ?? Infinity),
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

  async #kill(host: Host): Promise<void> {
    host.isDead = true;
    for (const [request, owner] of this.#owners.entries()) {
      if (this.#processOf(request) === host.index) await this.#stored.kill?.(owner);
    }
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
