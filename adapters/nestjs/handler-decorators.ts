import { ConfigurationError } from "../../src/common/errors.js";
import type { DeliveryContext } from "../../src/handling/delivery-context.js";
import type {
  WebhookHandler,
  WebhookHandlers,
  UnrecognizedDelivery,
} from "../../src/handling/handlers.js";
import type { Alarm } from "../../src/records/alarm.js";
import type {
  KnownOnlineDataEvent,
  OnlineDataEvent,
  OnlineDataEventType,
} from "../../src/records/online-data-event.js";

/**
 * A decorator for a method that handles a record: `(record, context) => unknown`. With a
 * `TransactionalStore<Tx>` the context may be `DeliveryContext<Tx>`.
 */
export type HandlerDecorator<Record> = <
  // The decorator cannot know the store's transaction.
  // oxlint-disable-next-line typescript/no-explicit-any
  Method extends WebhookHandler<Record, DeliveryContext<any>>,
>(
  target: object,
  method: string | symbol,
  descriptor: TypedPropertyDescriptor<Method>,
) => void;

/** A method that has one of the decorators. */
export interface HandlerMark {
  readonly method: string | symbol;
  /** The decorator as it stands in the code, for messages. */
  readonly decorator: string;
  readonly handles: keyof WebhookHandlers;
  /** The event type, or `"*"`, of a handler for Online Data events. */
  readonly eventType?: OnlineDataEventType | "*";
}

/**
 * The static property of a class that lists its marks. On the class and not on the method, which other
 * decorators may replace. By `Symbol.for`, because a project may load two copies of this package.
 */
const MARKS = Symbol.for("identity-gateway-webhooks.nestjs.handlers");

/**
 * Marks the method of a provider that handles every alarm. Its class must be a singleton provider or
 * controller of any module; it injects what it needs.
 *
 * @example
 * ```ts
 * @Injectable()
 * class AlarmHandlers {
 *   constructor(private readonly notifier: Notifier) {}
 *
 *   @OnAlarm()
 *   async notify(alarm: Alarm, { id }: DeliveryContext) {
 *     await this.notifier.notify(alarm.account_id, alarm.text, id);
 *   }
 * }
 * ```
 */
export function OnAlarm(): HandlerDecorator<Alarm> {
  return marking({ decorator: "@OnAlarm()", handles: "new_alarm" });
}

/**
 * Marks the method of a provider that handles Online Data events of one type. Without a type it handles
 * every event whose type has no method of its own, also the types that the gateway adds later. A method
 * may have several of these decorators.
 *
 * @example
 * ```ts
 * @OnOnlineDataEvent("DATA_REAPPEARED")
 * async reopen(event: DataReappearedEvent) {
 *   await this.sites.reopen(event.account_id, event.site_id);
 * }
 *
 * @OnOnlineDataEvent()
 * async record(event: OnlineDataEvent) {
 *   await this.sites.record(event);
 * }
 * ```
 */
export function OnOnlineDataEvent(): HandlerDecorator<OnlineDataEvent>;
/** Marks the method of a provider that handles Online Data events of one type. */
export function OnOnlineDataEvent<Type extends OnlineDataEventType>(
  type: Type,
): HandlerDecorator<Extract<KnownOnlineDataEvent, { type: Type }>>;
export function OnOnlineDataEvent(type?: OnlineDataEventType): HandlerDecorator<never> {
  return marking({
    decorator: `@OnOnlineDataEvent(${type === undefined ? "" : JSON.stringify(type)})`,
    handles: "delete_my_data_event",
    eventType: type ?? "*",
  });
}

/**
 * Marks the method of a provider that takes authentic deliveries that the library does not recognize:
 * not JSON, not the documented shape, or of an unknown type. When it finishes, they count as handled;
 * without it, they are answered 503 and sent again.
 *
 * @example
 * ```ts
 * @OnUnrecognized()
 * async keep(delivery: UnrecognizedDelivery, { id, rawBody }: DeliveryContext) {
 *   await this.archive.keep(id, rawBody);
 * }
 * ```
 */
export function OnUnrecognized(): HandlerDecorator<UnrecognizedDelivery> {
  return marking({ decorator: "@OnUnrecognized()", handles: "unrecognized" });
}

/** The marks of the class of `instance`, with those of the classes that it extends. */
export function marksOf(instance: object): readonly HandlerMark[] {
  return marksOn((instance as { readonly constructor?: unknown }).constructor);
}

function marksOn(constructor: unknown): readonly HandlerMark[] {
  if (typeof constructor !== "function") return [];
  return (constructor as { readonly [MARKS]?: readonly HandlerMark[] })[MARKS] ?? [];
}

function marking(mark: Omit<HandlerMark, "method">): HandlerDecorator<never> {
  return (target, method) => {
    // The class itself for a static method, and the method for decorators that are not experimental.
    if (typeof target === "function") {
      throw new ConfigurationError(
        "invalid_handler",
        `${mark.decorator} marks a method of a provider that is not static, in a project with experimentalDecorators in its tsconfig.json`,
      );
    }
    const { constructor } = target;
    // A list of its own: one that it inherits belongs to the class that it extends.
    const value: readonly HandlerMark[] = [...marksOn(constructor), { ...mark, method }];
    Object.defineProperty(constructor, MARKS, { value, configurable: true });
  };
}
