// Generated from the schemas by test/records/plain-records.test.ts. After a change of the schemas:
// npx vitest run --project node test/records/plain-records.test.ts -u
//
// Written out, because a loop over the fields takes 0.11 µs for an alarm and this takes 0.01
// (zod/mini 1.2; classic zod 0.14 and 18 kB more at the edge). Not generated at load time, because
// that needs eval, which workers and strict content security policies forbid.
import { isSiteEventType } from "./online-data-event.js";

/** A record before validation. */
type PlainRecord = Readonly<Record<string, unknown>>;

/** Whether the schema of an alarm would accept it and convert nothing. */
export function isPlainAlarm(record: PlainRecord): boolean {
  return (
    Number.isSafeInteger(record["id"]) &&
    typeof record["text"] === "string" &&
    Number.isSafeInteger(record["account_id"]) &&
    typeof record["severity"] === "string" &&
    typeof record["status"] === "string" &&
    typeof record["source"] === "string" &&
    typeof record["event_type"] === "string" &&
    Number.isSafeInteger(record["category_id"]) &&
    typeof record["original_event_id"] === "string" &&
    typeof record["payload"] === "string" &&
    typeof record["date"] === "string" &&
    typeof record["checked_at"] === "string" &&
    typeof record["created_at"] === "string" &&
    typeof record["updated_at"] === "string"
  );
}

/** Whether the schema of a documented event with a site would accept it and convert nothing. */
export function isPlainSiteEvent(record: PlainRecord): boolean {
  return (
    isSiteEventType(record["type"]) &&
    typeof record["severity"] === "string" &&
    Number.isSafeInteger(record["account_id"]) &&
    typeof record["client_id"] === "string" &&
    typeof record["occurred_at"] === "string" &&
    Number.isSafeInteger(record["site_id"]) &&
    typeof record["site_name"] === "string" &&
    typeof record["site_base_url"] === "string"
  );
}

/** Whether the schema of the documented event without a site would accept it and convert nothing. */
export function isPlainEventWithoutSite(record: PlainRecord): boolean {
  return (
    record["type"] === "POWER_OF_ATTORNEY_SIGNED" &&
    typeof record["severity"] === "string" &&
    Number.isSafeInteger(record["account_id"]) &&
    typeof record["client_id"] === "string" &&
    typeof record["occurred_at"] === "string" &&
    record["site_id"] === null &&
    record["site_name"] === null &&
    record["site_base_url"] === null
  );
}
