import type { TwinEvent } from "../twin/twin-event.js";
import { bodyOf } from "../twin/twin-event.js";
import { ApiError } from "./api-format.js";

type GatewayRecord = Readonly<Record<string, unknown>>;

/** The alarms and events that the gateway has made up, whether a webhook was called for them or not. */
export class RecordTable {
  readonly #alarms = new Map<string, GatewayRecord>();
  readonly #events: GatewayRecord[] = [];

  /** Keeps the record of an event, and returns the event. One that holds no record is only delivered. */
  keep(event: TwinEvent): TwinEvent {
    const { alarm, event: record } = readBody(bodyOf(event).body);
    if (alarm !== undefined) this.#alarms.set(String(alarm["id"]), alarm);
    else if (record !== undefined) this.#events.push(record);
    return event;
  }

  /** The alarms of an account, or of all, the newest last. */
  alarms(accountId: string | undefined): readonly GatewayRecord[] {
    return [...this.#alarms.values()].filter((one) => isOf(accountId, one));
  }

  events(accountId: string | undefined): readonly GatewayRecord[] {
    return this.#events.filter((one) => isOf(accountId, one));
  }

  /** Closes an alarm of the account, or of any. No webhook is called: they are called for new alarms only. */
  close(accountId: string | undefined, id: string): GatewayRecord {
    const alarm = this.alarms(accountId).find((one) => String(one["id"]) === id);
    if (alarm === undefined) throw new ApiError(404, "NOT_FOUND", "Not found.");
    const closed = { ...alarm, status: "CLOSED" };
    this.#alarms.set(id, closed);
    return closed;
  }
}

function isOf(accountId: string | undefined, record: GatewayRecord): boolean {
  return accountId === undefined || String(record["account_id"]) === accountId;
}

function readBody(body: Uint8Array): Readonly<Record<string, GatewayRecord | undefined>> {
  try {
    return Object(JSON.parse(new TextDecoder().decode(body))) as Record<string, GatewayRecord>;
  } catch {
    return {};
  }
}
