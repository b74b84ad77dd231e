import type { Alarm } from "./alarm.js";
import type { OnlineDataEvent } from "./online-data-event.js";

/** Where and why a body does not have the documented shape. Never holds a value of the body. */
export interface DeliveryIssue {
  /** Path from the root of the body, such as `["alarm", "account_id"]`. Empty for the body itself. */
  readonly path: readonly (string | number)[];
  /** What was expected there. */
  readonly message: string;
}

/** Where the shape is wrong, for a log or a report: "alarm.id: expected a number; ...". */
export function placesOf(issues: readonly DeliveryIssue[]): string {
  return issues
    .map(({ path, message }) => `${path.join(".") || "the body"}: ${message}`)
    .join("; ");
}

interface DecodedRecord {
  /** Nothing in it is new: it has the fields of the gateway's document, in their order, with the values listed there. */
  readonly isDocumented: boolean;
}

/** A signed body after decoding. The body of an unrecognized one is undefined if it is not JSON. */
export type Decoded =
  | (DecodedRecord & { readonly kind: "new_alarm"; readonly record: Alarm })
  | (DecodedRecord & { readonly kind: "delete_my_data_event"; readonly record: OnlineDataEvent })
  | { readonly kind: "type_mismatch" }
  | {
      readonly kind: "unrecognized";
      readonly body: unknown;
      readonly issues: readonly DeliveryIssue[];
    };

/** An object or array before validation. */
export type JsonObject = Record<string, unknown>;
