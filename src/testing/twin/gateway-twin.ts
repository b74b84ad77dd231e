import { ConfigurationError } from "../../common/errors.js";
import { ignoreFailure } from "../../common/promises.js";
import { isDeliveryId } from "../../delivery/headers.js";
import { integerOption, ownOptions } from "../../common/option-checks.js";
import { createRandom } from "../random.js";
import type { Journey } from "./attempt.js";
import { drawDeliveryId } from "./delivery-id.js";
import { createSendOnce } from "./exchange.js";
import { runDelivery, type RunRules } from "./run-delivery.js";
import { createSlots, type Slots } from "./slots.js";
import { createStop } from "./stop.js";
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
import { checkTwinOptions } from "./twin-settings.js";

/** The gateway's sender. `Delivered` is one delivery with `target`, a list of them with `webhooks`. */
export interface GatewayTwin<Delivered = TwinDelivery> {
  /**
   * Delivers one event to every active webhook of its type, and resolves when each delivery has ended.
   *
   * Rejects with a `ConfigurationError` for what is no event and for an option that cannot work.
   */
  readonly deliver: (event: TwinEvent, options?: DeliverOptions) => Promise<Delivered>;
  /**
   * Delivers many events, which are taken from `events` when there is room for an attempt. Resolves
   * when all have ended; those that were not begun when the run was stopped are not in the report.
   *
   * Rejects as `deliver` does; what is under way then goes on until `close`.
   */
  readonly deliverMany: (
    events: Iterable<TwinEvent>,
    options?: DeliverManyOptions,
  ) => Promise<TwinReport>;
  /** Every request so far, in the order of the answers. */
  readonly history: () => readonly TwinAttempt[];
  /** The clock's time: give it to a receiver in this process as its `now`. */
  readonly now: () => number;
  /** Repeats the run, where the receiver does the same again. */
  readonly seed: number;
  /**
   * Ends the deliveries under way as `stopped` and closes all connections. Resolves when no request is
   * left; one to a target in this process cannot be cut off, so it is waited for up to `timeoutMs`.
   */
  readonly close: () => Promise<void>;
}

/**
 * Makes a twin of the gateway's sender: the requests, the statuses after which it sends again or gives
 * up, and the schedule are those of GATEWAY.md ("Events", rules 1 to 3). `Retry-After` is not obeyed,
 * since the document does not say that the gateway does.
 *
 * @throws ConfigurationError for an option that is unknown or cannot work.
 */
export function createGatewayTwin(options: SingleTargetTwinOptions): GatewayTwin;
export function createGatewayTwin(
  options: WebhooksTwinOptions,
): GatewayTwin<readonly TwinDelivery[]>;
export function createGatewayTwin(
  options: GatewayTwinOptions,
): GatewayTwin<TwinDelivery | readonly TwinDelivery[]>;
export function createGatewayTwin(
  options: GatewayTwinOptions,
): GatewayTwin<TwinDelivery | readonly TwinDelivery[]> {
  const settings = checkTwinOptions(options);
  const { isSingle, webhooks, clock, seed, signal, timeoutMs, onAttempt, onDelivery } = settings;
  const random = createRandom(seed);
  const history: TwinAttempt[] = [];
  const stop = createStop(clock, signal, () => {
    for (const { sender } of webhooks) sender.close();
  });
  const sendOnce = createSendOnce(clock, timeoutMs);
  const rules: RunRules = {
    ...settings,
    pause: stop.pause,
    isStopped: stop.isStopped,
    sendOnce: (sender, request) => stop.track(sendOnce(sender, request)),
    onAttempt(attempt) {
      history.push(attempt);
      if (onAttempt !== undefined) void ignoreFailure(() => onAttempt(attempt));
    },
  };

  const run = async (journey: Journey, slots: Slots | undefined): Promise<TwinDelivery> => {
    const delivery = await runDelivery(journey, slots, rules);
    if (onDelivery !== undefined) void ignoreFailure(() => onDelivery(delivery));
    return delivery;
  };

  /** Starts one delivery per active webhook of the event's type. */
  const start = (
    event: TwinEvent,
    { id, copies, concurrent = false }: DeliverOptions,
    slots?: Slots,
  ): readonly Promise<TwinDelivery>[] => {
    const { type, body } = bodyOf(event);
    const called = webhooks.filter(
      (webhook) => webhook.type === undefined || webhook.type === type,
    );
    checkId(id, called.length);
    const requests = integerOption("copies", copies, { fallback: 1, min: 1, max: 1000 });
    return called.map((webhook) => {
      const journey: Journey = {
        ...{ id: id ?? drawDeliveryId(random), type, body, webhook, concurrent },
        copies: requests,
        random: createRandom(random.below(4_294_967_296)),
      };
      return stop.track(run(journey, slots));
    });
  };

  return {
    async deliver(event, deliverOptions = {}) {
      const own = ownOptions("deliver", deliverOptions, ["id", "copies", "concurrent"]);
      const deliveries = await Promise.all(start(event, own));
      const [only] = deliveries;
      return isSingle && only !== undefined ? only : deliveries;
    },

    async deliverMany(events, manyOptions = {}) {
      const names = ["concurrency", "copies", "concurrent"];
      const { concurrency, copies, concurrent } = ownOptions("deliverMany", manyOptions, names);
      const bounds = { fallback: 64, min: 1, max: 10_000 };
      const slots = createSlots(integerOption("concurrency", concurrency, bounds));
      const running: Promise<TwinDelivery>[] = [];
      for (const event of events) {
        await slots.free();
        if (stop.isStopped()) break;
        running.push(...start(event, { copies, concurrent }, slots));
      }
      return reportOn(seed, await Promise.all(running));
    },

    history: () => [...history],
    now: clock.now,
    seed,
    close: stop.close,
  };
}

function checkId(id: string | undefined, webhooks: number): void {
  if (id === undefined) return;
  if (!isDeliveryId(id)) {
    throw new ConfigurationError(
      "invalid_option",
      "id has to be 1 to 128 characters of [0-9A-Za-z._-]",
    );
  }
  if (webhooks > 1) {
    throw new ConfigurationError(
      "invalid_option",
      "id can be given only where one webhook takes the event: leave it out, each delivery has its own",
    );
  }
}
