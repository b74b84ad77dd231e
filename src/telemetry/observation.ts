import type { Log } from "../answer/logger.js";
import { invalidOption } from "../common/errors.js";
import { missingMethod } from "../common/option-checks.js";
import type { WebhookTelemetry, TelemetryWork } from "./telemetry.js";
import { openChannel, type Channel } from "./tracing-channel.js";

type Kind = TelemetryWork["kind"];
type Report = Parameters<WebhookTelemetry["end"]>[1];

/** Those who see the work of a receiver or a worker: its option `telemetry`, and Node's tracing channel. */
export class Observers {
  readonly #kind: Kind;
  /** The option, if it is given. */
  readonly #telemetry: readonly WebhookTelemetry[];
  readonly #channel: Channel | undefined;
  readonly #onFault: (error: unknown) => void;

  /** Throws `ConfigurationError` if `telemetry` is given without one of its methods. */
  constructor(kind: Kind, telemetry: WebhookTelemetry | undefined, log: Log) {
    const missing = telemetry && missingMethod(telemetry, ["begin", "run", "end"]);
    if (missing !== undefined) {
      throw invalidOption(`telemetry must have the method ${missing}`);
    }
    this.#kind = kind;
    this.#telemetry = telemetry === undefined ? [] : [telemetry];
    this.#channel = openChannel(kind);
    let hasWarned = false;
    this.#onFault = (error) => {
      if (hasWarned) return;
      hasWarned = true;
      log.warn("the option telemetry has thrown: its errors change nothing else", { error });
    };
  }

  /** Begins to observe a piece of work; undefined without an observer. */
  begin(): Observation | undefined {
    const channel = this.#channel?.channel.hasSubscribers === true ? this.#channel : undefined;
    const observers = channel === undefined ? this.#telemetry : [...this.#telemetry, channel];
    if (observers.length === 0) return undefined;
    return new Observation(this.#kind, observers, this.#onFault);
  }
}

/** One request, write or job as its observers see it. None of them can change what becomes of it. */
export class Observation {
  readonly #begun: { readonly telemetry: WebhookTelemetry; readonly state: unknown }[] = [];
  readonly #onFault: (error: unknown) => void;

  constructor(
    kind: Kind,
    observers: readonly WebhookTelemetry[],
    onFault: (error: unknown) => void,
  ) {
    this.#onFault = onFault;
    for (const telemetry of observers) {
      try {
        this.#begun.push({ telemetry, state: telemetry.begin(kind) });
      } catch (error) {
        onFault(error);
      }
    }
  }

  /** Returns what `call` returns. Calls it exactly once. `call` must not throw. */
  run<Result>(work: TelemetryWork, call: () => Result): Result {
    return this.#runFrom(0, work, call);
  }

  end(report: Report): void {
    for (const { telemetry, state } of this.#begun) {
      try {
        telemetry.end(state, report);
      } catch (error) {
        this.#onFault(error);
      }
    }
  }

  #runFrom<Result>(at: number, work: TelemetryWork, call: () => Result): Result {
    const begun = this.#begun[at];
    if (begun === undefined) return call();
    let called: { readonly result: Result } | undefined;
    // An observer that calls it never, twice or too late must not lose or double a delivery.
    const once = (): Result => {
      called ??= { result: this.#runFrom(at + 1, work, call) };
      return called.result;
    };
    try {
      begun.telemetry.run(begun.state, work, once);
    } catch (error) {
      this.#onFault(error);
    }
    return once();
  }
}
