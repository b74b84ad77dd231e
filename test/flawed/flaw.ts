import type { ConformanceOptions } from "../../kit/conformance/conformance-options.js";
import type { Ledger } from "../support/ledger.js";
import type { RightReceiver } from "./right-receiver.js";

/** Makes a receiver that writes into a ledger. */
export type ReceiverClass = new (ledger: Ledger) => RightReceiver;

/** A receiver with one flaw: what it does wrong, and the case that must convict it. */
export type Flaw = readonly [
  does: string,
  caughtBy: string,
  receiver: ReceiverClass,
  options?: Partial<ConformanceOptions>,
];

/** A receiver that does something unusual and harmless, so no case may fail it. */
export type Variant = readonly [
  does: string,
  receiver: ReceiverClass,
  options?: Partial<ConformanceOptions>,
];

/** For a receiver that never gives the right answer in the case that convicts it. Long enough for any machine. */
export const HANGS: Partial<ConformanceOptions> = { timeoutMs: 15_000 };

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
