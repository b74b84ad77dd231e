// Compiled, never run: the interfaces of the records are equal to the tables that the decoder and the schemas are
// made from, and those of the context and of a job have the headers of the table.
import type { Alarm } from "../../src/records/alarm.js";
import type {
  KnownOnlineDataEvent,
  OnlineDataEventType,
  OnlineDataSeverity,
  UnknownOnlineDataEvent,
} from "../../src/records/online-data-event.js";
import type { ALARM, EVENT, EVENT_TYPES } from "../../src/common/gateway-facts.js";
import type { HeaderKey } from "../../src/delivery/headers.js";
import type { DeliveryFacts } from "../../src/handling/delivery-context.js";
import type { InboxJob } from "../../src/inbox/inbox-job.js";
import { type Equal, proves } from "./proofs.js";

/** What a row says of its field. The gateway may add values to a text. */
type Value<Row> = Row extends { readonly kind: "integer" }
  ? number
  : Row extends { readonly values: readonly (infer Known)[] }
    ? Known | (string & {})
    : string;
/** `Site` is what the fields of the site have instead of their value, or beside it. */
type Event<Type, HasSite> = {
  readonly [Field in keyof typeof EVENT]: Field extends "type"
    ? Type
    : (typeof EVENT)[Field] extends { readonly ofSite: true }
      ? | (HasSite extends true ? Value<(typeof EVENT)[Field]> : never)
        | (HasSite extends false ? null : never)
      : Value<(typeof EVENT)[Field]>;
};
type EventOf<Type extends OnlineDataEventType> = Type extends unknown
  ? Event<Type, (typeof EVENT_TYPES)[Type]["hasSite"]>
  : never;
/** The fields of each member of a union, whichever interface declares them. */
type Fields<Record> = Record extends unknown
  ? { readonly [Field in keyof Record]: Record[Field] }
  : never;

proves<
  Equal<Fields<Alarm>, { readonly [Field in keyof typeof ALARM]: Value<(typeof ALARM)[Field]> }>
>();
proves<Equal<OnlineDataEventType, keyof typeof EVENT_TYPES>>();
proves<Equal<Fields<KnownOnlineDataEvent>, EventOf<OnlineDataEventType>>>();
proves<Equal<Fields<UnknownOnlineDataEvent>, Event<string & {}, boolean>>>();
proves<Equal<OnlineDataSeverity, (typeof EVENT_TYPES)[OnlineDataEventType]["severity"]>>();

/** The headers that handlers get and jobs carry. */
type Carried = Exclude<HeaderKey, "signature">;
proves<Equal<Carried, Carried & keyof DeliveryFacts & keyof InboxJob>>();
