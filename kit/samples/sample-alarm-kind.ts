import type { AlarmEventType, AlarmSeverity, AlarmSource } from "../../src/records/alarm.js";
import type { Random } from "../random.js";
import type { SampleSubject } from "./sample-subject.js";

/** Content of the samples of one `event_type`. */
export interface SampleAlarmKind {
  readonly event_type: AlarmEventType;
  readonly source: AlarmSource;
  /** From 1 to 7 (the gateway's document, section "Alarm"). */
  readonly category_id: number;
  readonly severity: AlarmSeverity;
  /** Makes text and payload. `payload` becomes the alarm's JSON text; its shape depends on vendor and type. */
  readonly describe: (
    subject: SampleSubject,
    random: Random,
  ) => { readonly text: string; readonly payload: object };
}
