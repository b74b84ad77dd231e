import http, { type IncomingMessage } from "node:http";
import type { ConformanceOptions } from "../../kit/conformance/conformance-options.js";
import type { Ledger } from "../support/ledger.js";
import {
  RightReceiver,
  type Answer,
  type Fields,
  type Refusal,
  type Request,
} from "./right-receiver.js";

/** Makes a receiver that writes into a ledger. */
export type MakeReceiver = (ledger: Ledger) => RightReceiver;

type MakeServed = (ledger: Ledger) => Pick<RightReceiver, "createServer">;

/** A receiver, with options of the suite where it needs some. */
export type Judged = MakeServed | readonly [MakeServed, Partial<ConformanceOptions>];

/** Receivers by what they do, after "a receiver that". */
export type Receivers = Readonly<Record<string, Judged>>;

/** Receivers with one flaw each, under the case that must convict them. */
export type Flaws = Readonly<Record<string, Receivers>>;

/** Receivers that do the same with different things. `does` ends before the name of the thing. */
export function each<T>(
  does: string,
  make: (thing: T) => Judged,
  things: Readonly<Record<string, T>>,
): Receivers {
  const rows = Object.entries(things).map(([name, thing]) => [`${does} ${name}`, make(thing)]);
  return Object.fromEntries(rows) as Receivers;
}

/** Things that are their own names. */
export const named = <T extends string>(...names: readonly T[]) =>
  Object.fromEntries(names.map((name) => [name, name])) as Record<string, T>;

type Overrides = Partial<RightReceiver>;

/**
 * A right receiver of which some methods are replaced. A function gets the receiver with its right methods, and is
 * called for each receiver, so that it can hold state.
 */
export function overriding(replaced: Overrides | ((right: RightReceiver) => Overrides)) {
  return (ledger: Ledger): RightReceiver => {
    const receiver = new RightReceiver(ledger);
    const right = new Proxy(receiver, {
      get(target, name): unknown {
        const method: unknown = Reflect.get(RightReceiver.prototype, name);
        return typeof method === "function" ? method.bind(target) : Reflect.get(target, name);
      },
    });
    const overrides = typeof replaced === "function" ? replaced(right) : replaced;
    return Object.assign(receiver, overrides);
  };
}

type Method = Exclude<keyof RightReceiver, "handled" | "ledger" | "running">;
type Args<M extends Method> = Parameters<RightReceiver[M]>;
/** Methods that get the right receiver too. */
type Replaced = {
  readonly [M in Method]: (right: RightReceiver, ...args: Args<M>) => ReturnType<RightReceiver[M]>;
};

/** A right receiver of which one method is replaced. */
export function replacing<M extends Method>(name: M, act: Replaced[M]) {
  return overriding((right) => ({ [name]: (...args: Args<M>) => act(right, ...args) }));
}

/** Does something else before it does what is right. */
export function doingFirst<M extends Method>(
  name: M,
  act: (right: RightReceiver, ...args: Args<M>) => unknown,
) {
  return overriding((right) => ({
    [name]: (...args: Args<M>) => {
      act(right, ...args);
      return (right[name] as (...given: Args<M>) => unknown)(...args);
    },
  }));
}

/** For a receiver that never gives the right answer in the case that convicts it. Long enough for any machine. */
export function hanging(make: MakeReceiver): Judged {
  return [make, { timeoutMs: 15_000 }];
}

/** A promise that stays pending. One that ends with its file would let a hanging receiver go on. */
export const never = (): Promise<never> => new Promise(() => undefined);

/** Whether a request has a header, with a value that matches. */
export function has(name: string, pattern = /^/) {
  return ({ headers }: Pick<IncomingMessage, "headers">): boolean =>
    headers[name] !== undefined && pattern.test(String(headers[name]));
}

/** Answers some requests before it looks at them. */
export function answeringFirst(answer: number | Answer) {
  return (isPicked: (req: IncomingMessage, body: Buffer) => boolean) =>
    replacing("receive", (right, req, body) =>
      isPicked(req, body) ? answerOf(answer) : right.receive(req, body),
    );
}

/** Answers some genuine records without handling them. */
export function giving(answer: number | Answer) {
  return (isPicked: (record: Fields, request: Request) => boolean) =>
    overriding({
      check: (record, request) => (isPicked(record, request) ? answerOf(answer) : undefined),
    });
}

/** Answers another status for one reason. */
export function refusing(refused: Refusal, status: number) {
  return replacing("refuse", (right, reason, request) =>
    reason === refused ? [status, reason] : right.refuse(reason, request),
  );
}

/** Accepts other headers than a right receiver, and may do more otherwise. */
export function withGrammar(
  changes: Partial<ReturnType<RightReceiver["grammar"]>>,
  more: (right: RightReceiver) => Overrides = () => ({}),
) {
  return overriding((right) => ({
    grammar: () => ({ ...right.grammar(), ...changes }),
    ...more(right),
  }));
}

/** Remembers deliveries under another name. */
export function keyed(keyOf: RightReceiver["keyOf"]) {
  return overriding({ keyOf });
}

/** Remembers as many ids as this. */
export function rememberingLast(count: number) {
  return replacing("remember", ({ handled }, key) => {
    handled.add(key);
    const [oldest = ""] = handled;
    if (handled.size > count) handled.delete(oldest);
  });
}

/** Lets Node accept invalid bytes in headers, and changes the headers itself. */
export function parsingLoosely(change: (value: string) => string) {
  return overriding((right) => ({
    createServer: () =>
      http.createServer({ insecureHTTPParser: true }, (req, res) => {
        void right.serve(req, res);
      }),
    header(req, name) {
      const value = right.header(req, name);
      return value && change(value);
    },
  }));
}

/** Lets two requests meet inside of a receiver, so that a race between them happens on any machine. */
export class Meeting {
  #arrived: (() => void) | undefined;

  /** Resolves when the next request comes, or after a while. */
  async wait(): Promise<void> {
    this.#arrived?.();
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, 100);
      this.#arrived = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

function answerOf(answer: number | Answer): Answer {
  return typeof answer === "number" ? [answer, "no"] : answer;
}
