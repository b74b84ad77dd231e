// Compiled, never run: the interfaces of the records have exactly the documented fields of the schemas,
// with the types that validation produces.
import type * as z from "zod/mini";
import type { Alarm } from "../../src/records/alarm.js";
import type {
  KnownOnlineDataEvent,
  OnlineDataEvent,
  UnknownOnlineDataEvent,
} from "../../src/records/online-data-event.js";
import type {
  alarmSchema,
  deleteMyDataEventSchema,
  newAlarmSchema,
  onlineDataEventSchema,
} from "../../src/records/schemas.js";
import { type Equal, proves } from "./proofs.js";

/** The named fields of each member of a union, without the index signature that unknown fields need. */
type Fields<Record> = Record extends unknown
  ? { readonly [Field in keyof Record as string extends Field ? never : Field]: Record[Field] }
  : never;
type Produced<Schema extends z.ZodMiniType> = Fields<z.output<Schema>>;
type Member<Index extends 0 | 1> = Produced<
  (typeof onlineDataEventSchema)["def"]["options"][Index]
>;

proves<Equal<Produced<typeof alarmSchema>, Fields<Alarm>>>();
proves<Equal<Member<0>, Fields<KnownOnlineDataEvent>>>();
proves<Equal<Member<1>, Fields<UnknownOnlineDataEvent>>>();
proves<Equal<Produced<typeof onlineDataEventSchema>, Fields<OnlineDataEvent>>>();
proves<Equal<Fields<z.output<typeof newAlarmSchema>["alarm"]>, Fields<Alarm>>>();
proves<Equal<Fields<z.output<typeof deleteMyDataEventSchema>["event"]>, Fields<OnlineDataEvent>>>();
