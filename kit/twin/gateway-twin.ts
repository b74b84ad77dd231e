import { checkOption } from "../option-checks.js";
import { ignoreFailure } from "../../src/common/promises.js";
import { HEADERS } from "../../src/delivery/headers.js";
import { integerOption, ownOptions } from "../../src/common/option-checks.js";
import { createRandom, madeUpDeliveryId, type Random } from "../random.js";
import { sendOnce, type PlannedDelivery } from "./attempt.js";
import { deliverWithRetries, type DeliveryTools } from "./deliver-with-retries.js";
import { Semaphore } from "../../src/common/semaphore.js";
import { Shutdown } from "./shutdown.js";
import type { TwinAttempt, TwinDelivery } from "./twin-delivery.js";
import { bodyOf, type TwinEvent } from "./twin-event.js";
import type {
  DeliverManyOptions,
  DeliverOptions,
  GatewayTwinOptions,
  SingleTargetTwinOptions,
  WebhooksTwinOptions,
} from "./twin-options.js";
import { reportOn, type TwinReport } from "./twin-report.js";
import { checkTwinOptions, type TwinSettings } from "./twin-settings.js";

/**
 * A twin of the gateway's sender, as `createGatewayTwin` makes it. `Delivered` is one delivery when the twin
 * has a `target`, and a list of deliveries when it has `webhooks`.
 *
 * @experimental
 */
export interface GatewayTwin<Delivered = TwinDelivery> {
  /**
   * Delivers one event to every active webhook of its type. Resolves when all these deliveries have ended.
   *
   * Rejects with a `ConfigurationError` for an invalid event or option.
   */
  readonly deliver: (event: TwinEvent, options?: DeliverOptions) => Promise<Delivered>;
  /**
   * Delivers many events. Takes the next one from `events` when there is room for an attempt. Resolves when
   * all deliveries have ended. After a stop the report leaves out the events that were not started.
   *
   * Rejects as `deliver` does. Deliveries that were started then go on until `close`.
   */
  readonly deliverMany: (
    events: Iterable<TwinEvent>,
    options?: DeliverManyOptions,
  ) => Promise<TwinReport>;
  /** Every request so far, in the order in which the answers arrived. */
  readonly history: () => readonly TwinAttempt[];
  /** The time of the twin's clock. Give it to a receiver in this process as its `now`. */
  readonly now: () => number;
  /** Give it to a new twin to repeat the run, if the receiver behaves the same. */
  readonly seed: number;
  /**
   * Ends the deliveries under way as `stopped` and closes all connections. Resolves when no request is
   * under way. A request to a target in this process cannot be cancelled: `close` waits for it, up to
   * `timeoutMs`.
   */
  readonly close: () => Promise<void>;
}

/**
 * Makes a twin of the gateway's sender. It makes the same requests, sends again or gives up after the same statuses
 * and follows the same schedule as the gateway. It ignores `Retry-After`, since the document does not say that the
 * gateway obeys it.
 *
 * @example
 * const clock = createVirtualClock(); // 36 hours of retries in milliseconds
 * const twin = createGatewayTwin({ target: receiver, secret, clock });
 * const { end, attempts } = await twin.deliver({ alarm: sampleAlarm() });
 *
 * @throws ConfigurationError for an unknown or invalid option.
 */
export function createGatewayTwin(options: SingleTargetTwinOptions): GatewayTwin;
/** For several webhooks: each event gives one delivery per webhook of its type. */
export function createGatewayTwin(
  options: WebhooksTwinOptions,
): GatewayTwin<readonly TwinDelivery[]>;
/** For options whose form is only known at run time: one webhook or several. */
export function createGatewayTwin(
  options: GatewayTwinOptions,
): GatewayTwin<TwinDelivery | readonly TwinDelivery[]>;
/** For options whose form is only known at run time: one webhook or several. */
export function createGatewayTwin(
  options: GatewayTwinOptions,
): GatewayTwin<TwinDelivery | readonly TwinDelivery[]> {
  return startTwin(checkTwinOptions(options));
}

/** Starts a twin. Each event goes to the webhooks that `settings.webhooks` has at that time. */
export function startTwin(
  settings: TwinSettings,
): GatewayTwin<TwinDelivery | readonly TwinDelivery[]> {
  const { isSingle, webhooks, clock, seed, signal, timeoutMs, onAttempt, onDelivery } = settings;
  const random = createRandom(seed);
  const history: TwinAttempt[] = [];
  const shutdown = new Shutdown(clock, signal, () => {
    for (const { sender } of webhooks) sender.close();
  });
  const tools: DeliveryTools = {
    ...settings,
    pause: (ms) => shutdown.pause(ms),
    isStopped: () => shutdown.isStopped,
    sendOnce: (sender, request) => shutdown.track(sendOnce(sender, request, clock, timeoutMs)),
    onAttempt(attempt) {
      history.push(attempt);
      if (onAttempt !== undefined) void ignoreFailure(() => onAttempt(attempt));
    },
  };

  const run = async (planned: PlannedDelivery, room?: Semaphore): Promise<TwinDelivery> => {
    const delivery = await deliverWithRetries(planned, room, tools);
    if (onDelivery !== undefined) void ignoreFailure(() => onDelivery(delivery));
    return delivery;
  };

  const webhooksOf = (type: string) =>
    webhooks.filter((webhook) => webhook.type === undefined || webhook.type === type);

  /** Starts one delivery for each active webhook of the event's type. */
  const start = (
    event: TwinEvent,
    { id, times, concurrent = false }: DeliverOptions,
    room?: Semaphore,
    isHeldBack = (): boolean => false,
  ): readonly Promise<TwinDelivery>[] => {
    const { type, body } = bodyOf(event);
    const called = webhooksOf(type);
    checkId(id, called.length);
    const requests = integerOption("times", times, { fallback: 1, min: 1, max: 1000 });
    return called.map((webhook) => {
      const planned: PlannedDelivery = {
        id: id ?? drawDeliveryId(random),
        type,
        body,
        webhook,
        concurrent,
        times: requests,
        random: createRandom(random.below(4_294_967_296)),
        isHeldBack,
      };
      return shutdown.track(run(planned, room));
    });
  };

  return {
    async deliver(event, deliverOptions = {}) {
      const names = ["id", "times", "concurrent", "overtakenBy"];
      const own = ownOptions("deliver", deliverOptions, names);
      const { overtakenBy } = own;
      // Before the first attempt: this one would wait in vain for a newer event that is none or goes nowhere.
      checkOption(
        overtakenBy === undefined || webhooksOf(bodyOf(overtakenBy).type).length > 0,
        "overtakenBy must be an event that an active webhook receives: this one overtakes nothing",
      );
      let isOvertaken = overtakenBy === undefined;
      const running = start(event, own, undefined, () => !isOvertaken);
      if (overtakenBy !== undefined) await Promise.all(start(overtakenBy, {}));
      isOvertaken = true;
      const deliveries = await Promise.all(running);
      const [only] = deliveries;
      return isSingle && only !== undefined ? only : deliveries;
    },

    async deliverMany(events, manyOptions = {}) {
      const names = ["concurrency", "times", "concurrent"];
      const { concurrency, times, concurrent } = ownOptions("deliverMany", manyOptions, names);
      const bounds = { fallback: 64, min: 1, max: 10_000 };
      const room = new Semaphore(integerOption("concurrency", concurrency, bounds));
      const running: Promise<TwinDelivery>[] = [];
      for (const event of events) {
        await room.available();
        if (shutdown.isStopped) break;
        running.push(...start(event, { times, concurrent }, room));
      }
      return reportOn(seed, await Promise.all(running));
    },

    history: () => [...history],
    now: clock.now,
    seed,
    close: () => shutdown.close(),
  };
}

function checkId(id: string | undefined, webhooks: number): void {
  if (id === undefined) return;
  checkOption(HEADERS.id.fits(id), `id must be ${HEADERS.id.grammar}`);
  checkOption(
    webhooks <= 1,
    "id can be given only if one webhook receives the event: leave it out, since each delivery needs its own id",
  );
}

/** A made-up X-Webhook-Id. The same seed gives the same id. */
function drawDeliveryId(random: Random): string {
  const word = (): string => random.below(4_294_967_296).toString(16).padStart(8, "0");
  return madeUpDeliveryId(Buffer.from(word() + word() + word() + word(), "hex"));
}
