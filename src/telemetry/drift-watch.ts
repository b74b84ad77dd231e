import { isObject } from "../common/option-checks.js";
import { HEADERS, isWebhookType } from "../delivery/headers.js";
import type { Log } from "../answer/logger.js";
import type { Decoded } from "../records/decoded.js";
import { ALARM, EVENT, type Fields } from "../common/gateway-facts.js";

/** Bounds the memory and the log, should the gateway name fields after values. */
const MAX_NAMES = 100;
/**
 * Words in lower case, each with at most three digits, as in all names of the gateway. Other names are not
 * written: they could be values, such as an e-mail address, an account number or a person's name.
 */
const FIELD_NAME = /^(?=.{1,40}$)_*[a-z]+\d{0,3}(?:_[a-z]*\d{0,3})*$/;
/** A body may have a million fields. */
const MAX_FIELDS = 100;
const ADVICE = "Update this library, or read the field with extraFields. This is logged once";
const EVENT_ADVICE = `With once: "record" it is part of the event's key. ${ADVICE}`;

/** Counts what the gateway sends beyond its document, and logs each of it once, by name and without a value. */
export class DriftWatch {
  readonly #log: Log;
  readonly #counts = new Map<string, number>();
  readonly #onDrift: () => void;

  constructor(log: Log, onDrift: () => void) {
    this.#log = log;
    this.#onDrift = onDrift;
  }

  /** Called for each authentic delivery before its handler runs, which may change the record. */
  check(decoded: Decoded, claimedType: string): void {
    if ("isDocumented" in decoded && decoded.isDocumented) return;
    const drift = driftOf(decoded, claimedType);
    if (drift.length === 0) return;
    this.#onDrift();
    for (const what of drift) this.#count(what);
  }

  /** How many times each was found, by a sentence that names it. At most 100 of them. */
  counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  #count(what: string): void {
    const known = this.#counts.get(what);
    if (known === undefined && this.#counts.size >= MAX_NAMES) return;
    this.#counts.set(what, (known ?? 0) + 1);
    if (known === undefined) {
      const advice = what.startsWith("event") ? EVENT_ADVICE : ADVICE;
      this.#log.warn(`schema drift: ${what}. ${advice}`);
    }
  }
}

/** What the gateway's document lists of a record: its fields, and the values of those that have some. */
interface DocumentedRecord {
  readonly owner: string;
  readonly fields: readonly string[];
  readonly values: readonly (readonly [field: string, known: ReadonlySet<unknown>])[];
}

const DOCUMENTED = {
  new_alarm: documented("alarm", ALARM),
  delete_my_data_event: documented("event", EVENT),
};

function documented(owner: string, table: Fields): DocumentedRecord {
  const values = Object.entries(table).flatMap(([field, { values: known }]) =>
    known === undefined ? [] : [[field, new Set<unknown>(known)] as const],
  );
  return { owner, fields: Object.keys(table), values };
}

/**
 * What a decoded delivery has that the gateway's document does not list, one sentence each: "alarm.new_field is not
 * documented", "alarm.severity has a value that is not documented". Names fields, never a value. Names at most
 * 100 fields of one delivery. `claimedType` is X-Webhook-Type.
 */
export function driftOf(decoded: Decoded, claimedType: string): readonly string[] {
  if (decoded.kind === "type_mismatch") return [];
  if (decoded.kind === "unrecognized") return driftOfBody(decoded.body, claimedType);
  const { owner, fields, values } = DOCUMENTED[decoded.kind];
  const { record } = decoded;
  return [
    ...unknownFields(owner, record, fields),
    ...values
      .filter(([field, known]) => !known.has(Reflect.get(record, field)))
      .map(([field]) => `${owner}.${field} has a value that is not documented`),
  ];
}

/** A body without a documented record may be of a webhook type that the gateway added. */
function driftOfBody(body: unknown, claimedType: string): readonly string[] {
  return [
    ...(isWebhookType(claimedType)
      ? []
      : [`${HEADERS.type.name} has a value that is not documented`]),
    ...(isObject(body) ? unknownFields("body", body, ["alarm", "event"]) : []),
  ];
}

function unknownFields(owner: string, record: object, known: readonly string[]): string[] {
  return Object.keys(record)
    .filter((name) => !known.includes(name))
    .slice(0, MAX_FIELDS)
    .map((name) =>
      FIELD_NAME.test(name)
        ? `${owner}.${name} is not documented`
        : `${owner} has a field with an unusual name, which is not documented`,
    );
}
