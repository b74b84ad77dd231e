import type { AlarmEventType, AlarmSeverity, AlarmSource } from "../../records/alarm.js";
import type { Random } from "../random.js";
import type { SampleSubject } from "./sample-subject.js";

/** What a sample of one `event_type` says, and how it is made. */
export interface SampleAlarmKind {
  readonly event_type: AlarmEventType;
  readonly source: AlarmSource;
  /** Of 1 to 7 (GATEWAY.md, "Alarm"). */
  readonly category_id: number;
  readonly severity: AlarmSeverity;
  /** `payload` becomes the alarm's JSON text. Its shape is the vendor's, and another for each type. */
  readonly describe: (
    subject: SampleSubject,
    random: Random,
  ) => { readonly text: string; readonly payload: object };
}
