/** The documented severities of an Online Data event (the gateway's document, section "Online Data event"). */
export type OnlineDataSeverity = "INFO" | "SUCCESS" | "WARNING";

/** The fields that every Online Data event has with the same type. */
interface OnlineDataEventFields {
  /** `INFO`, `SUCCESS`, `WARNING`, or a value added later (the gateway's document, section "Online Data event"). */
  readonly severity: OnlineDataSeverity | (string & {});
  /** Gateway account that the event is about, an integer (the gateway's document, section "Online Data event"). */
  readonly account_id: number;
  /** The partner's client id (the gateway's document, section "Online Data event"). */
  readonly client_id: string;
  /**
   * Time of the event, ISO 8601 with an offset; read it with `parseGatewayTime` (the gateway's document, section
   * "Online Data event").
   */
  readonly occurred_at: string;
}

/** The fields of an event about one broker site. */
interface SiteEventFields extends OnlineDataEventFields {
  /**
   * Id of the broker site, an integer; never null on this type (the gateway's document, section
   * "delete_my_data_event").
   */
  readonly site_id: number;
  /** Name of the broker site; never null on this type (the gateway's document, section "delete_my_data_event"). */
  readonly site_name: string;
  /** Base URL of the broker site; never null on this type (the gateway's document, section "delete_my_data_event"). */
  readonly site_base_url: string;
}

/** A removal request was sent to the broker (the gateway's document, section "delete_my_data_event"). */
export interface DeletionRequestSentEvent extends SiteEventFields {
  /** Always `DELETION_REQUEST_SENT` (the gateway's document, section "delete_my_data_event"). */
  readonly type: "DELETION_REQUEST_SENT";
}

/** Manual removal instructions were sent to the user (the gateway's document, section "delete_my_data_event"). */
export interface UserManualInstructionsSentEvent extends SiteEventFields {
  /** Always `USER_MANUAL_INSTRUCTIONS_SENT` (the gateway's document, section "delete_my_data_event"). */
  readonly type: "USER_MANUAL_INSTRUCTIONS_SENT";
}

/** The broker confirmed removal (the gateway's document, section "delete_my_data_event"). */
export interface DataDeletedEvent extends SiteEventFields {
  /** Always `DATA_DELETED` (the gateway's document, section "delete_my_data_event"). */
  readonly type: "DATA_DELETED";
}

/** A new scan found removed data again (the gateway's document, section "delete_my_data_event"). */
export interface DataReappearedEvent extends SiteEventFields {
  /** Always `DATA_REAPPEARED` (the gateway's document, section "delete_my_data_event"). */
  readonly type: "DATA_REAPPEARED";
}

/**
 * A completed scan of one site matched the user's profile (the gateway's document, section "delete_my_data_event").
 */
export interface PersonalDataFoundEvent extends SiteEventFields {
  /** Always `PERSONAL_DATA_FOUND` (the gateway's document, section "delete_my_data_event"). */
  readonly type: "PERSONAL_DATA_FOUND";
}

/** A completed scan of one site found no match (the gateway's document, section "delete_my_data_event"). */
export interface PersonalDataNotFoundEvent extends SiteEventFields {
  /** Always `PERSONAL_DATA_NOT_FOUND` (the gateway's document, section "delete_my_data_event"). */
  readonly type: "PERSONAL_DATA_NOT_FOUND";
}

/** The end user signed the power of attorney (the gateway's document, section "delete_my_data_event"). */
export interface PowerOfAttorneySignedEvent extends OnlineDataEventFields {
  /** Always `POWER_OF_ATTORNEY_SIGNED` (the gateway's document, section "delete_my_data_event"). */
  readonly type: "POWER_OF_ATTORNEY_SIGNED";
  /** Always null: this type is about no site (the gateway's document, section "delete_my_data_event"). */
  readonly site_id: null;
  /** Always null: this type is about no site (the gateway's document, section "delete_my_data_event"). */
  readonly site_name: null;
  /** Always null: this type is about no site (the gateway's document, section "delete_my_data_event"). */
  readonly site_base_url: null;
}

/** An event of a type that the gateway's document does not list: the gateway may add types at any time. */
export interface UnknownOnlineDataEvent extends OnlineDataEventFields {
  /** A type that is not documented (the gateway's document, section "delete_my_data_event"). */
  readonly type: string & {};
  /**
   * Id of the broker site, an integer; null when the event is about no site (the gateway's document, section "Online
   * Data event").
   */
  readonly site_id: number | null;
  /**
   * Name of the broker site; null when the event is about no site (the gateway's document, section "Online Data
   * event").
   */
  readonly site_name: string | null;
  /**
   * Base URL of the broker site; null when the event is about no site (the gateway's document, section "Online Data
   * event").
   */
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
 * An Online Data event record, the content of a `delete_my_data_event` delivery (the gateway's document, section
 * "Online
 * Data event"). `isKnownOnlineDataEvent` narrows it to the documented types, after which `event.type`
 * decides whether the site fields are null. Fields beyond the documented ones: `extraFields(event)`.
 */
export type OnlineDataEvent = KnownOnlineDataEvent | UnknownOnlineDataEvent;

/** The documented values of `event.type` (the gateway's document, section "delete_my_data_event"). */
export type OnlineDataEventType = KnownOnlineDataEvent["type"];

/** The documented event types, in the order of the gateway's document, and whether an event of each has a site. */
const HAS_SITE: Readonly<Record<OnlineDataEventType, boolean>> = {
  DELETION_REQUEST_SENT: true,
  USER_MANUAL_INSTRUCTIONS_SENT: true,
  DATA_DELETED: true,
  DATA_REAPPEARED: true,
  PERSONAL_DATA_FOUND: true,
  PERSONAL_DATA_NOT_FOUND: true,
  POWER_OF_ATTORNEY_SIGNED: false,
};

/** The documented event types, in the order of the gateway's document. */
export const ONLINE_DATA_EVENT_TYPES = Object.keys(HAS_SITE) as readonly OnlineDataEventType[];

/** The documented fields of an Online Data event. */
export const ONLINE_DATA_EVENT_FIELDS: readonly string[] = Object.keys({
  type: true,
  severity: true,
  account_id: true,
  client_id: true,
  site_id: true,
  site_name: true,
  site_base_url: true,
  occurred_at: true,
} satisfies Record<keyof OnlineDataEvent, true>);

// Sets, because a type named like a member of Object.prototype must not be found.
const knownTypes = new Set<unknown>(ONLINE_DATA_EVENT_TYPES);
const siteTypes = new Set<unknown>(ONLINE_DATA_EVENT_TYPES.filter((type) => HAS_SITE[type]));

/** Whether the gateway's document lists this event type. */
export function isOnlineDataEventType(type: string): type is OnlineDataEventType {
  return knownTypes.has(type);
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

/** Whether the gateway's document lists this event type with its site fields set. */
export function isSiteEventType(type: unknown): boolean {
  return siteTypes.has(type);
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
