import { integerOption, ownOptions } from "../../src/common/option-checks.js";
import { MAX_TIMER_MS } from "../../src/common/timers.js";
import { INTEGER_OPTIONS } from "../../src/options/options.js";
import { checkOption } from "../option-checks.js";
import { httpUrl } from "../sending/sender.js";
import { documentedEvent } from "../recorder/documented-fields.js";
import { SendError } from "../sending/target.js";
import type { IntakeOptions, RequestedFailure } from "./delivery-intake.js";
import { differing, FILTERS, type DeliveryFilter } from "./delivery-log.js";
import { Forwarder } from "./forwarder.js";
import { startApi } from "./listener-api.js";
import { Listener } from "./listener.js";
import type { ListenedDelivery } from "./listened-delivery.js";
import { startServer } from "./local-server.js";

/**
 * Options of `startListener`.
 *
 * @experimental
 */
export interface StartListenerOptions {
  /** The secret, several during a rotation, or those of each webhook type, as the receiver takes them. */
  readonly secret: NonNullable<IntakeOptions["secret"]>;
  /** URL of your app, which decides the answers. Default: the listener answers as a receiver with handlers that do nothing. */
  readonly forward?: string | URL | undefined;
  /** Port for deliveries, from 0 to 65 535. Default 0: any free one. */
  readonly port?: number | undefined;
  /** How long the app may take to answer. Milliseconds, from 1 to 2 147 483 647, default 30 000. */
  readonly timeoutMs?: number | undefined;
  /** The receiver's option of that name. Bytes, from 1 to 268 435 456, default 1 048 576 (1 MiB). */
  readonly maxBodyBytes?: number | undefined;
}

/**
 * A local receiver for end-to-end tests: it takes deliveries in front of your app and shows each one.
 *
 * @experimental
 */
export interface WebhookListener {
  /** Where deliveries go: any path below it. */
  readonly url: string;
  /** The HTTP API, for tests in another process or language. It listens on 127.0.0.1 alone. */
  readonly api: { readonly url: string; readonly token: string };
  /**
   * Resolves to the first delivery that fits and that no earlier call returned, also one that has already arrived.
   * `timeoutMs`: from 1 to 2 147 483 647, default 5 000. Rejects with a `SendError` when the time is over, which says
   * what arrived instead (`"timeout"`), and when the listener is closed (`"network"`).
   */
  readonly next: (
    wanted?: DeliveryFilter & { readonly timeoutMs?: number | undefined },
  ) => Promise<ListenedDelivery>;
  /**
   * The next `count` authentic deliveries are answered 500, or not at all with `"no_answer"`, and do not reach the
   * app. From 0 to 1 000; replaces an earlier call.
   */
  readonly failNext: (count: number, how?: RequestedFailure) => void;
  /** The deliveries so far, oldest first: the last 500, and at most 64 MiB of bodies. */
  readonly deliveries: () => readonly ListenedDelivery[];
  /** Closes both servers, and ends each `next` that waits. Resolves when running requests are answered, or after a second. */
  readonly close: () => Promise<void>;
}

const OPTIONS = ["secret", "forward", "port", "timeoutMs", "maxBodyBytes"];
const TIME = { min: 1, max: MAX_TIMER_MS };

/**
 * Starts a listener on 127.0.0.1, so that a test waits for a delivery instead of sleeping. The same server as the
 * command `listen`.
 *
 * Rejects with `ConfigurationError` for an option that cannot work, and with the system's error if the port is not
 * available.
 *
 * @example
 * const listener = await startListener({ forward: "http://127.0.0.1:3000/webhooks/gateway", secret });
 * // Register listener.url at the gateway, and do what makes it send. Then:
 * const { status } = await listener.next({ type: "new_alarm", accountId: 42, timeoutMs: 5_000 });
 * await listener.close();
 * @experimental
 */
export async function startListener(given: StartListenerOptions): Promise<WebhookListener> {
  const options = ownOptions("startListener", given, OPTIONS);
  const { forward } = options;
  // The receiver refuses what is not given.
  const secret = (options as Partial<typeof options>).secret ?? [];
  const url = forward === undefined ? undefined : httpUrl("forward", forward);
  const timeoutMs = integerOption("timeoutMs", options.timeoutMs, { fallback: 30_000, ...TIME });
  const { maxBodyBytes: bytes } = INTEGER_OPTIONS;
  const maxBodyBytes = integerOption("maxBodyBytes", options.maxBodyBytes, bytes);
  const port = integerOption("port", options.port, { fallback: 0, min: 0, max: 65_535 });

  const forwarder = url && new Forwarder(url, timeoutMs);
  const listener = new Listener({ secret, maxBodyBytes, forwarder });
  const server = await startServer(listener.answer.bind(listener), port, "127.0.0.1", "any");
  const api = await startApi(listener);
  const returned = new Set<number>();
  const closing = new AbortController();
  return {
    url: server.url,
    api: { url: api.url, token: api.token },
    async next(wanted = {}) {
      const { timeoutMs: limit, ...filter } = ownOptions("next", wanted, [...FILTERS, "timeoutMs"]);
      const ms = integerOption("timeoutMs", limit, { fallback: 5_000, ...TIME });
      const fits = (one: ListenedDelivery): boolean =>
        !returned.has(one.seq) && differing(one, filter).length === 0;
      const find = (): ListenedDelivery | undefined => {
        const found = listener.log.all.find(fits);
        if (found !== undefined) returned.add(found.seq);
        return found;
      };
      const found = await listener.log.wait(find, ms, closing.signal);
      if (found !== undefined) return found;
      if (closing.signal.aborted) throw new SendError("network", "the listener was closed");
      const arrived = listener.log.all.map((one) => arrivedText(one, differing(one, filter)));
      throw new SendError("timeout", missingText(ms, listener.log.last, arrived));
    },
    failNext(count, how = "500") {
      integerOption("count", count, { fallback: 1, min: 0, max: 1_000 });
      checkOption(["500", "no_answer"].includes(how), 'failNext takes "500" or "no_answer"');
      listener.failNext(count, how);
    },
    deliveries: () => listener.log.all,
    async close() {
      closing.abort();
      await Promise.all([server.close(), api.close()]);
      forwarder?.close();
      await listener.settled();
    },
  };
}

function missingText(ms: number, count: number, arrived: readonly string[]): string {
  const rest = arrived.length === 0 ? "" : `, the last: ${arrived.slice(-5).join("; ")}`;
  return `no such delivery within ${ms} ms; arrived so far: ${count}${rest}`;
}

/** A delivery, and where it differs from the wanted one, without anything of a person. */
function arrivedText(one: ListenedDelivery, differs: ReturnType<typeof differing>): string {
  const { status, outcome, type = "", eventType } = one;
  const shown = { ...one, accountId: "", eventType: documentedEvent(eventType) };
  const named = differs.map((name) => `${name} ${shown[name] ?? "unknown"}`.trim()).join(", ");
  const why = named === "" ? "returned before" : `differs in ${named}`;
  return `${`${status} ${outcome} ${type}`.trim()} (${why})`;
}
