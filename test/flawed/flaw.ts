import http from "node:http";
import type { ConformanceOptions } from "../../kit/conformance/conformance-options.js";
import type { Ledger } from "../support/ledger.js";
import { RightReceiver, type Fields, type Request } from "./right-receiver.js";

/** Makes a receiver that writes into a ledger. */
export type MakeReceiver = (ledger: Ledger) => RightReceiver;

/** A receiver, with options of the suite where it needs some. */
export type Judged = MakeReceiver | readonly [MakeReceiver, Partial<ConformanceOptions>];

/** Receivers by what they do, after "a receiver that". */
export type Receivers = Readonly<Record<string, Judged>>;

/** Receivers with one flaw each, under the case that must convict them. */
export type Flaws = Readonly<Record<string, Receivers>>;

/** The receivers of a table as rows. */
export function rowsOf(receivers: Receivers) {
  return Object.entries(receivers).map(([does, judged]) => {
    const [make, options] = typeof judged === "function" ? [judged] : judged;
    const createServer = (ledger: Ledger) => make(ledger).createServer();
    return { does, createServer, options };
  });
}

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

type Method = Exclude<keyof RightReceiver, "createServer" | "handled" | "ledger" | "running">;

/** Does something else before it does what is right. */
export function doingFirst<M extends Method>(
  name: M,
  act: (right: RightReceiver, ...args: Parameters<RightReceiver[M]>) => unknown,
) {
  return overriding((right) => {
    const method = right[name] as (...args: Parameters<RightReceiver[M]>) => unknown;
    const both = (...args: Parameters<RightReceiver[M]>) => {
      act(right, ...args);
      return method(...args);
    };
    return { [name]: both };
  });
}

/** For a receiver that never gives the right answer in the case that convicts it. Long enough for any machine. */
export function hanging(make: MakeReceiver): Judged {
  return [make, { timeoutMs: 15_000 }];
}

/** The record of a request, also before it is parsed. Empty when it cannot be read. */
export function recordOf({ body }: Request): Fields {
  try {
    const { alarm, event } = JSON.parse(String(body).replace(/^\uFEFF/, "")) as Fields;
    return Object(alarm ?? event) as Fields;
  } catch {
    return {};
  }
}

/** A promise that stays pending. */
export const never = (): Promise<never> => new Promise(() => undefined);

/** Accepts other headers than a right receiver. */
export function withGrammar(changes: Partial<ReturnType<RightReceiver["grammar"]>>) {
  return overriding((right) => ({ grammar: () => ({ ...right.grammar(), ...changes }) }));
}

/** Remembers deliveries under another name. */
export function keyed(keyOf: RightReceiver["keyOf"]) {
  return overriding({ keyOf });
}

/** Remembers as many ids as this. */
export function rememberingLast(count: number) {
  return overriding(({ handled }) => ({
    remember(key) {
      handled.add(key);
      const [oldest = ""] = handled;
      if (handled.size > count) handled.delete(oldest);
    },
  }));
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
