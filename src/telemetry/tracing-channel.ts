import type { WebhookTelemetry, TelemetryWork } from "./telemetry.js";

/** Node's tracing channel as an observer. */
export interface Channel extends WebhookTelemetry {
  /** Node's own object, whose `hasSubscribers` is read for each delivery. */
  readonly channel: TracingChannel;
}

/**
 * What subscribers get: the members of the work and, from `asyncEnd` on, also those of the report. It is one
 * object for all events of a request or a job.
 */
type Message = Record<string, unknown>;

interface Published {
  readonly message: Message;
  hasStarted: boolean;
}

/** The parts of Node's `TracingChannel` that are used here. */
interface TracingChannel {
  readonly hasSubscribers: boolean;
  readonly start: NodeChannel;
  readonly end: NodeChannel;
  readonly asyncStart: NodeChannel;
  readonly asyncEnd: NodeChannel;
  readonly error: NodeChannel;
}

interface NodeChannel {
  publish(message: Message): void;
  /** Publishes, and calls `call` in the stores that are bound to this channel. */
  runStores<Result>(message: Message, call: () => Result): Result;
}

interface DiagnosticsChannel {
  readonly tracingChannel?: (name: string) => TracingChannel;
}

interface Host {
  readonly process?: { getBuiltinModule?(name: string): unknown };
}

/**
 * The channel `identity-gateway-webhooks:<kind>`; undefined where the runtime has none. Never an import: a
 * bundle for the edge could not resolve it.
 */
export function openChannel(kind: TelemetryWork["kind"]): Channel | undefined {
  const channel = findChannel(`identity-gateway-webhooks:${kind}`);
  return channel === undefined ? undefined : new NodeTracingChannel(channel);
}

function findChannel(name: string): TracingChannel | undefined {
  try {
    const { process } = globalThis as Host;
    const module = process?.getBuiltinModule?.("node:diagnostics_channel");
    return (module as DiagnosticsChannel | undefined)?.tracingChannel?.(name);
  } catch {
    // A runtime may deny it, as Deno does without permissions.
    return undefined;
  }
}

/**
 * Publishes `start` and `end` around the call of the handler, and `asyncStart` and `asyncEnd` when the work has
 * ended. Work without a handler has all four at its end. `error` comes before `asyncEnd` if the report has an
 * error.
 */
class NodeTracingChannel implements Channel {
  readonly channel: TracingChannel;

  constructor(channel: TracingChannel) {
    this.channel = channel;
  }

  begin(): Published {
    return { message: {}, hasStarted: false };
  }

  run<Result>(state: Published, work: TelemetryWork, call: () => Result): Result {
    const { start, end } = this.channel;
    state.hasStarted = true;
    Object.assign(state.message, work);
    return start.runStores(state.message, () => {
      const result = call();
      end.publish(state.message);
      return result;
    });
  }

  end(state: Published, report: object): void {
    const { start, end, asyncStart, asyncEnd, error } = this.channel;
    const { message } = state;
    Object.assign(message, report);
    if (!state.hasStarted) {
      start.publish(message);
      end.publish(message);
    }
    state.hasStarted = true;
    if ("error" in report) error.publish(message);
    asyncStart.publish(message);
    asyncEnd.publish(message);
  }
}
