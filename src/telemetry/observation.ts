import type { Log } from "../answer/logger.js";
import { requireMethods } from "../common/option-checks.js";
import type { WebhookTelemetry, TelemetryWork } from "./telemetry.js";

const METHODS = ["begin", "run", "end"];

type Kind = TelemetryWork["kind"];
type Report = Parameters<WebhookTelemetry["end"]>[1];

/** The option `telemetry` of a receiver, an inbox or a worker, which sees its work. */
export class Observer {
  readonly #kind: Kind;
  readonly #telemetry: WebhookTelemetry | undefined;
  readonly #onFault: (error: unknown) => void;

  /** Throws `ConfigurationError` if `telemetry` is given without one of its methods. */
  constructor(kind: Kind, telemetry: WebhookTelemetry | undefined, log: Log) {
    if (telemetry !== undefined) {
      requireMethods(telemetry, METHODS, (name) => `telemetry must have the method ${name}`);
    }
    this.#kind = kind;
    this.#telemetry = telemetry;
    let hasWarned = false;
    this.#onFault = (error) => {
      if (hasWarned) return;
      hasWarned = true;
      log.warn("the option telemetry has thrown: its errors change nothing else", { error });
    };
  }

  /** Begins to observe a piece of work. Undefined without the option, or if its `begin` throws. */
  begin(): Observation | undefined {
    if (this.#telemetry === undefined) return undefined;
    try {
      const state = this.#telemetry.begin(this.#kind);
      return new Observation(this.#telemetry, state, this.#onFault);
    } catch (error) {
      this.#onFault(error);
      return undefined;
    }
  }
}

/** One request, write or job as the telemetry sees it. It cannot change what becomes of it. */
export class Observation {
  readonly #telemetry: WebhookTelemetry;
  readonly #state: unknown;
  readonly #onFault: (error: unknown) => void;

  constructor(telemetry: WebhookTelemetry, state: unknown, onFault: (error: unknown) => void) {
    this.#telemetry = telemetry;
    this.#state = state;
    this.#onFault = onFault;
  }

  /** Returns what `call` returns. Calls it exactly once. `call` must not throw. */
  run<Result>(work: TelemetryWork, call: () => Result): Result {
    let called: { readonly result: Result } | undefined;
    // Telemetry that calls it never, twice or too late must not lose or double a delivery.
    const once = (): Result => (called ??= { result: call() }).result;
    try {
      this.#telemetry.run(this.#state, work, once);
    } catch (error) {
      this.#onFault(error);
    }
    return once();
  }

  end(report: Report): void {
    try {
      this.#telemetry.end(this.#state, report);
    } catch (error) {
      this.#onFault(error);
    }
  }
}
