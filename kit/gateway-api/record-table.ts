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

  /** The alarms of an account, the newest last. */
  alarms(accountId: string): readonly GatewayRecord[] {
    return [...this.#alarms.values()].filter((one) => String(one["account_id"]) === accountId);
  }

  events(accountId: string): readonly GatewayRecord[] {
    return this.#events.filter((one) => String(one["account_id"]) === accountId);
  }

  /** Closes an alarm of the account. No webhook is called: they are called for new alarms only. */
  close(accountId: string, id: string): GatewayRecord {
    const alarm = this.alarms(accountId).find((one) => String(one["id"]) === id);
    if (alarm === undefined) throw new ApiError(404, "NOT_FOUND", "Not found.");
    const closed = { ...alarm, status: "CLOSED" };
    this.#alarms.set(id, closed);
    return closed;
  }
}

function readBody(body: Uint8Array): Readonly<Record<string, GatewayRecord | undefined>> {
  try {
    return Object(JSON.parse(new TextDecoder().decode(body))) as Record<string, GatewayRecord>;
  } catch {
    return {};
  }
}
