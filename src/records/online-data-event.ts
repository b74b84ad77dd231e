import { EVENT, EVENT_TYPES } from "../common/gateway-facts.js";

/** The documented severities of an Online Data event. */
export type OnlineDataSeverity = "INFO" | "SUCCESS" | "WARNING";

/** The fields that every Online Data event has with the same type. */
interface OnlineDataEventFields {
  /** `INFO`, `SUCCESS`, `WARNING`, or a value added later. */
  readonly severity: OnlineDataSeverity | (string & {});
  /** Gateway account that the event is about, an integer. */
  readonly account_id: number;
  /** The partner's client id. */
  readonly client_id: string;
  /** Time of the event, ISO 8601 with an offset; read it with `parseGatewayTime`. */
  readonly occurred_at: string;
}

/** The fields of an event about one broker site. */
interface SiteEventFields extends OnlineDataEventFields {
  /** Id of the broker site, an integer; never null on this type. */
  readonly site_id: number;
  /** Name of the broker site; never null on this type. */
  readonly site_name: string;
  /** Base URL of the broker site; never null on this type. */
  readonly site_base_url: string;
}

/** A removal request was sent to the broker. */
export interface DeletionRequestSentEvent extends SiteEventFields {
  /** Always `DELETION_REQUEST_SENT`. */
  readonly type: "DELETION_REQUEST_SENT";
}

/** Manual removal instructions were sent to the user. */
export interface UserManualInstructionsSentEvent extends SiteEventFields {
  /** Always `USER_MANUAL_INSTRUCTIONS_SENT`. */
  readonly type: "USER_MANUAL_INSTRUCTIONS_SENT";
}

/** The broker confirmed removal. */
export interface DataDeletedEvent extends SiteEventFields {
  /** Always `DATA_DELETED`. */
  readonly type: "DATA_DELETED";
}

/** A new scan found removed data again. */
export interface DataReappearedEvent extends SiteEventFields {
  /** Always `DATA_REAPPEARED`. */
  readonly type: "DATA_REAPPEARED";
}

/** A completed scan of one site matched the user's profile. */
export interface PersonalDataFoundEvent extends SiteEventFields {
  /** Always `PERSONAL_DATA_FOUND`. */
  readonly type: "PERSONAL_DATA_FOUND";
}

/** A completed scan of one site found no match. */
export interface PersonalDataNotFoundEvent extends SiteEventFields {
  /** Always `PERSONAL_DATA_NOT_FOUND`. */
  readonly type: "PERSONAL_DATA_NOT_FOUND";
}

/** The end user signed the power of attorney. */
export interface PowerOfAttorneySignedEvent extends OnlineDataEventFields {
  /** Always `POWER_OF_ATTORNEY_SIGNED`. */
  readonly type: "POWER_OF_ATTORNEY_SIGNED";
  /** Always null: this type is about no site. */
  readonly site_id: null;
  /** Always null: this type is about no site. */
  readonly site_name: null;
  /** Always null: this type is about no site. */
  readonly site_base_url: null;
}

/** An event of a type that the gateway's document does not list: the gateway may add types at any time. */
export interface UnknownOnlineDataEvent extends OnlineDataEventFields {
  /** A type that is not documented. */
  readonly type: string & {};
  /** Id of the broker site, an integer; null when the event is about no site. */
  readonly site_id: number | null;
  /** Name of the broker site; null when the event is about no site. */
  readonly site_name: string | null;
  /** Base URL of the broker site; null when the event is about no site. */
  readonly site_base_url: string | null;
}

/** An Online Data event of a documented type. `event.type` tells the members apart. */
export type KnownOnlineDataEvent =
  | DeletionRequestSentEvent
  | UserManualInstructionsSentEvent
  | DataDeletedEvent
  | DataReappearedEvent
  | PersonalDataFoundEvent
  | PersonalDataNotFoundEvent
  | PowerOfAttorneySignedEvent;

/**
 * An Online Data event record, the content of a `delete_my_data_event` delivery. `isKnownOnlineDataEvent` narrows it
 * to the documented types, after which `event.type` decides whether the site fields are null. Fields beyond the
 * documented ones: `extraFields(event)`.
 */
export type OnlineDataEvent = KnownOnlineDataEvent | UnknownOnlineDataEvent;

/** The documented values of `event.type`. */
export type OnlineDataEventType = KnownOnlineDataEvent["type"];

/** The documented event types, in the order of the gateway's document. */
export const ONLINE_DATA_EVENT_TYPES: readonly OnlineDataEventType[] = EVENT.type.values;

/** Whether the gateway's document lists this event type. */
export function isOnlineDataEventType(type: string): type is OnlineDataEventType {
  return Object.hasOwn(EVENT_TYPES, type);
}

/**
 * The documented type of an event, or `other`; undefined for what is no event. So a name that is not documented
 * gets into no log and no metric.
 */
export function eventTypeOf(record: unknown): OnlineDataEventType | "other" | undefined {
  try {
    const { type } = Object(record) as { readonly type?: unknown };
    if (typeof type !== "string") return undefined;
    return isOnlineDataEventType(type) ? type : "other";
  } catch {
    // A handler has put a getter that throws into its record.
    return undefined;
  }
}

/**
 * Whether an event is of a documented type, so that `event.type` narrows its site fields.
 *
 * ```ts
 * if (isKnownOnlineDataEvent(event) && event.type === "DATA_REAPPEARED") reopen(event.site_id); // number
 * ```
 */
export function isKnownOnlineDataEvent(event: OnlineDataEvent): event is KnownOnlineDataEvent {
  return isOnlineDataEventType(event.type);
}

type EventRow = (typeof EVENT_TYPES)[OnlineDataEventType];
/** The documented statuses of a removal request. */
export type RemovalStatus = Extract<EventRow, { removal: string }>["removal"];

/**
 * What the removal request of a site has become when the gateway sends an event of this type (the gateway's document,
 * section "Removal request status"). Undefined for a type that changes none, and for one that the gateway adds later.
 */
export function removalStatusOf(type: string): RemovalStatus | undefined {
  const row = isOnlineDataEventType(type) ? EVENT_TYPES[type] : undefined;
  return row !== undefined && "removal" in row ? row.removal : undefined;
}
