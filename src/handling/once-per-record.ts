import { HEADERS } from "../delivery/headers.js";
import { listedId, type RecoverableRecord } from "../delivery/recovered-delivery.js";
import { backend } from "#crypto";
import type { Log } from "../answer/logger.js";
import { invalidOption } from "../common/errors.js";
import { ownOptions } from "../common/option-checks.js";
import { ignoreFailure } from "../common/promises.js";
import type { Alarm } from "../records/alarm.js";
import { gatewayTimeMs } from "../records/gateway-time.js";
import type { OnlineDataEvent } from "../records/online-data-event.js";
import { isExact } from "../records/record-fields.js";
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
 * event has no id, so two events count as one if all their fields are equal, documented or not; `occurred_at` to the
 * second.
 *
 * A function returns the text by which a record is known instead, an alarm or an event. Only a digest of it gets into
 * the store.
 *
 * All receivers with the same store share these records: alarm 1000 of stage counts as alarm 1000 of production.
 * `{ record, scope }` keeps them apart. `record` is true, or the function; `scope` is a text that only the
 * receivers with the same alarms have, at least one character. Another `scope` knows no record of before.
 *
 * Anything but `"delivery"` needs a secret: without signatures, anyone could have an alarm skipped by its number.
 */
export type OnceOption =
  | "delivery"
  | "record"
  | ((given: RecordOfDelivery) => string)
  | {
      readonly record: true | ((given: RecordOfDelivery) => string);
      readonly scope: string;
    };

/** Throws `ConfigurationError` if `once` is nothing by which a record can be known. */
export function checkRecordOption(once: Exclude<OnceOption, "delivery">): void {
  if (once === "record" || typeof once === "function") return;
  if (typeof once !== "object" || (once as unknown) === null) {
    throw invalidOption('once must be "delivery", "record", a function, or { record, scope }');
  }
  const own = ownOptions("once", once, ["record", "scope"]);
  const { record, scope } = own as Readonly<Record<string, unknown>>;
  if (record !== true && typeof record !== "function") {
    throw invalidOption("once.record must be true, or a function of { type, record }");
  }
  if (typeof scope !== "string" || scope === "") {
    throw invalidOption("once.scope must be a text of at least one character");
  }
}

/** Finds the second key of a delivery: that of its record. */
export class RecordKeys {
  readonly #textOf: (given: RecordOfDelivery) => string;
  readonly #scope: string;
  readonly #log: Log;
  #hasWarned = false;

  /** `storeScope`: that of the store, which counts where `once` names none. */
  constructor(once: Exclude<OnceOption, "delivery">, storeScope: string | undefined, log: Log) {
    const { record, scope } = typeof once === "object" ? once : { record: once, scope: "" };
    this.#textOf = typeof record === "function" ? record : textOf;
    this.#scope = scope;
    this.#log = log;
    if (scope !== "") return;
    const where = storeScope === undefined ? "this store" : `the store "${storeScope}"`;
    log.warn(
      `once: a record counts as handled for every receiver on ${where}: if another one has alarms of ` +
        'its own, as stage beside production, give each a scope: once: { record: true, scope: "…" }',
    );
  }

  /**
   * The id under which a record of the gateway's lists is claimed: two records that differ have two. Where numbers may
   * have differed before their digits were lost, it is another one each time: in doubt a record is handled twice.
   */
  async listedIdOf(given: RecoverableRecord): Promise<string> {
    try {
      const { type, record } = given;
      return listedId(await backend.sha256(sortedJson([this.#scope, type, record])));
    } catch {
      return listedId((backend.randomUuid() + backend.randomUuid()).replaceAll("-", ""));
    }
  }

  /** The key; undefined if the delivery id alone decides. Never rejects. */
  async keyOf({ headers, call }: Delivery): Promise<string | undefined> {
    const { id, type } = headers;
    const { record } = call;
    let fault: unknown;
    try {
      const text: unknown =
        record === undefined ? "" : this.#textOf({ type, record } as RecordOfDelivery);
      // No personal data in the store: a key of the partner's may be an address.
      if (typeof text === "string" && text !== "") {
        // No delivery id contains `#`, so no sender can name the key.
        return `record#${await backend.sha256(JSON.stringify([this.#scope, type, text]))}`;
      }
      // An asynchronous function is not waited for. Its rejection must not end the process.
      void ignoreFailure(() => text);
    } catch (error) {
      fault = error;
    }
    if (!this.#hasWarned) {
      this.#hasWarned = true;
      const line =
        "once: no key for a record (your function gave no text, or a number is not exact), so it can run again " +
        `under another ${HEADERS.id.name}; said once`;
      this.#log.warn(line, { id, type, error: fault });
    }
    return undefined;
  }
}

/** All that an event has, in sorted order: one that differs in a field alone is another event. */
function textOf({ type, record }: RecordOfDelivery): string {
  if (type === "new_alarm") return String(record.id);
  const ms = gatewayTimeMs(record.occurred_at);
  const occurred_at = Number.isNaN(ms) ? record.occurred_at : Math.floor(ms / 1_000);
  return sortedJson({ ...record, occurred_at });
}

/** Throws if a number is not exact. */
function sortedJson(data: unknown): string {
  return JSON.stringify(data, (_, value: unknown) => {
    // Two numbers whose digits JSON.parse has lost may have differed.
    if (typeof value === "number" && !isExact(value)) throw new RangeError("a number is not exact");
    return typeof value !== "object" || value === null || Array.isArray(value)
      ? value
      : Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
  });
}

/** `record#` and a digest. The owner of a delivery id alone is shorter. */
const RECORD_KEY_LENGTH = 7 + 64;

/** Stands between the owner of a claim and the key of its record. No owner contains it. */
const SEPARATOR = "\n";

/** The owner of a claim on two keys. It names the record's key, so each later call of the claim knows both. */
export function ownerOfBoth(owner: string, recordKey: string): string {
  return owner + SEPARATOR + recordKey;
}

/** What the owner holds a claim on: the delivery id, and the key of its record if the owner names one. */
export function keysOf(id: string, owner: string): readonly string[] {
  // Most owners name none, and to search one takes 1 % of a delivery.
  if (owner.length <= RECORD_KEY_LENGTH) return [id];
  const at = owner.indexOf(SEPARATOR);
  return at === -1 ? [id] : [id, owner.slice(at + 1)];
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
    const [owner] = partsOf(given);
    const held = await Promise.all(
      keysOf(id, given).map(async (key) => this.#store.renew(key, owner, options)),
    );
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
