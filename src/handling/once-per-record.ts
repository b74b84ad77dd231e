import type { Log } from "../answer/logger.js";
import { sha256Hex } from "../common/digest.js";
import { ignoreFailure } from "../common/promises.js";
import type { Alarm } from "../records/alarm.js";
import { gatewayTimeMs } from "../records/gateway-time.js";
import { ONLINE_DATA_EVENT_FIELDS, type OnlineDataEvent } from "../records/online-data-event.js";
import type {
  ClaimOptions,
  ClaimResult,
  CompleteOptions,
  DeliveryStore,
  RenewOptions,
} from "../stores/delivery-store.js";
import type { Delivery } from "./handling.js";

/** A record and its type, as a function for `once` gets them. */
export type RecordOfDelivery =
  | { readonly type: "new_alarm"; readonly record: Alarm }
  | { readonly type: "delete_my_data_event"; readonly record: OnlineDataEvent };

/**
 * What the receiver handles once. Default `"delivery"`: each X-Webhook-Id.
 *
 * `"record"`: each alarm and each Online Data event as well, whatever X-Webhook-Id it comes under. Two active
 * webhooks of one partner carry each record twice, as while a URL moves. An alarm is known by its `id`. An
 * event has no id, so two events that are equal in all documented fields, to the second, count as one.
 *
 * A function returns the text by which a record is known instead. Only a digest of it gets into the store.
 */
export type OnceOption = "delivery" | "record" | ((given: RecordOfDelivery) => string);

/** Finds the second key of a delivery: that of its record. */
export class RecordKeys {
  readonly #textOf: (given: RecordOfDelivery) => string;
  readonly #log: Log;
  #hasWarned = false;

  constructor(once: Exclude<OnceOption, "delivery">, log: Log) {
    this.#textOf = once === "record" ? textOf : once;
    this.#log = log;
  }

  /** The key; undefined if the delivery id alone decides. Never rejects. */
  async keyOf({ headers, trace }: Delivery): Promise<string | undefined> {
    const { id, type } = headers;
    const { record } = trace;
    let fault: unknown;
    try {
      const text: unknown =
        record === undefined ? "" : this.#textOf({ type, record } as RecordOfDelivery);
      // No personal data in the store: a key of the partner's may be an address.
      if (typeof text === "string" && text !== "") {
        return `record.${await sha256Hex(`${type}\n${text}`)}`;
      }
      // An asynchronous function is not waited for. Its rejection must not end the process.
      void ignoreFailure(() => text);
    } catch (error) {
      fault = error;
    }
    if (!this.#hasWarned) {
      this.#hasWarned = true;
      const line = "once: no key for a record: its X-Webhook-Id alone decides; said once";
      this.#log.warn(line, { id, type, error: fault });
    }
    return undefined;
  }
}

function textOf({ type, record }: RecordOfDelivery): string {
  if (type === "new_alarm") return String(record.id);
  const event = record as unknown as Readonly<Record<string, unknown>>;
  return JSON.stringify(
    ONLINE_DATA_EVENT_FIELDS.map((field) => {
      const value = event[field];
      const ms = field === "occurred_at" ? gatewayTimeMs(value as string) : Number.NaN;
      return Number.isNaN(ms) ? value : Math.floor(ms / 1_000);
    }),
  );
}

/** Stands between the owner of a claim and the key of its record. No owner contains it. */
const SEPARATOR = "\n";

/** The owner of a claim on two keys. It names the record's key, so each later call of the claim knows both. */
export function ownerOfBoth(owner: string, recordKey: string): string {
  return owner + SEPARATOR + recordKey;
}

/** A claim result that also says whether the record, and not the delivery id, was refused. */
export type RecordClaimResult = ClaimResult & { readonly sameRecord?: true };

/**
 * The given store, whose claims hold two keys if their owner names a record's key: the delivery id first, then
 * the record. If the record was handled under another id, this id is completed too. So the store remembers
 * each id, with this option and without it.
 */
export class TwoKeyStore implements DeliveryStore {
  readonly #store: DeliveryStore;

  constructor(store: DeliveryStore) {
    this.#store = store;
  }

  async claim(id: string, given: string, options: ClaimOptions): Promise<RecordClaimResult> {
    const [owner, recordKey] = partsOf(given);
    const first = await this.#store.claim(id, owner, options);
    if (recordKey === undefined || first.state !== "claimed") return first;
    const second = await this.#store.claim(recordKey, owner, options);
    if (second.state === "claimed") {
      return { state: "claimed", takeover: first.takeover || second.takeover };
    }
    if (second.state === "completed") await this.#store.complete(id, owner, options);
    else await this.#store.release(id, owner);
    return { ...second, sameRecord: true };
  }

  async renew(id: string, given: string, options: RenewOptions): Promise<boolean> {
    const [owner, recordKey] = partsOf(given);
    const keys = recordKey === undefined ? [id] : [id, recordKey];
    const held = await Promise.all(keys.map(async (key) => this.#store.renew(key, owner, options)));
    return held.every(Boolean);
  }

  /** The record first: if the process ends in between, this id finds it completed. */
  async complete(id: string, given: string, options: CompleteOptions): Promise<void> {
    const [owner, recordKey] = partsOf(given);
    if (recordKey !== undefined) await this.#store.complete(recordKey, owner, options);
    await this.#store.complete(id, owner, options);
  }

  async release(id: string, given: string): Promise<void> {
    const [owner, recordKey] = partsOf(given);
    if (recordKey !== undefined) await this.#store.release(recordKey, owner);
    await this.#store.release(id, owner);
  }
}

function partsOf(given: string): readonly [owner: string, recordKey?: string] {
  const [owner = "", recordKey] = given.split(SEPARATOR);
  return recordKey === undefined ? [owner] : [owner, recordKey];
}
