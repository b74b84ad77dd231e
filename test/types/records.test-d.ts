// Compiled, never run. The records have the documented fields and no others: each `@ts-expect-error`
// fails the compilation if the misspelt name compiles.
import {
  createWebhookReceiver,
  extraFields,
  isKnownOnlineDataEvent,
  type Alarm,
  type DataDeletedEvent,
  type DataReappearedEvent,
  type DeletionRequestSentEvent,
  type WebhookHandlers,
  type KnownOnlineDataEvent,
  type OnlineDataEvent,
  type OnlineDataEventType,
  type PersonalDataFoundEvent,
  type PersonalDataNotFoundEvent,
  type PowerOfAttorneySignedEvent,
  type UnknownOnlineDataEvent,
  type UserManualInstructionsSentEvent,
} from "identity-gateway-webhooks";
import { type Equal, proves } from "./proofs.js";

/** Reading the field is the use. */
declare function read(value: unknown): void;

declare const alarm: Alarm;
declare const event: OnlineDataEvent;
declare const dataDeleted: DataDeletedEvent;
declare const unknownEvent: UnknownOnlineDataEvent;

// @ts-expect-error: misspelt account_id
read(alarm.acount_id);
// @ts-expect-error: misspelt occurred_at
read(event.occured_at);

// In a handler as well, and by destructuring.
createWebhookReceiver({
  secret: "s",
  handlers: {
    // @ts-expect-error: misspelt account_id
    new_alarm: ({ acount_id: _misspelt }) => undefined,
    delete_my_data_event: {
      DATA_REAPPEARED: (reappeared) => {
        // @ts-expect-error: misspelt site_id
        read(reappeared.sit_id);
      },
      "*": (other) => {
        // @ts-expect-error: misspelt account_id
        read(other.acount_id);
      },
    },
  },
});

// Misspelt handlers.
const misspelt: WebhookHandlers = {
  // @ts-expect-error: misspelt new_alarm
  new_alarms: () => undefined,
};
const misspeltEvent: WebhookHandlers = {
  // @ts-expect-error: misspelt DATA_DELETED
  delete_my_data_event: { DATA_DELETE: () => undefined },
};

// A record cannot be changed in place.
// @ts-expect-error: the field is readonly
alarm.account_id = 1;
// @ts-expect-error: the field is readonly
dataDeleted.site_id = 1;
// @ts-expect-error: the field is readonly
unknownEvent.type = "DATA_MOVED";

// That every field name is a documented one, without an index signature, is in record-schemas.ts.

// Each event type has its interface.
type EventOf<T extends OnlineDataEventType> = Extract<KnownOnlineDataEvent, { type: T }>;
proves<Equal<EventOf<"DELETION_REQUEST_SENT">, DeletionRequestSentEvent>>();
proves<Equal<EventOf<"USER_MANUAL_INSTRUCTIONS_SENT">, UserManualInstructionsSentEvent>>();
proves<Equal<EventOf<"DATA_DELETED">, DataDeletedEvent>>();
proves<Equal<EventOf<"DATA_REAPPEARED">, DataReappearedEvent>>();
proves<Equal<EventOf<"PERSONAL_DATA_FOUND">, PersonalDataFoundEvent>>();
proves<Equal<EventOf<"PERSONAL_DATA_NOT_FOUND">, PersonalDataNotFoundEvent>>();
proves<Equal<EventOf<"POWER_OF_ATTORNEY_SIGNED">, PowerOfAttorneySignedEvent>>();

// Narrowing, and what is left of it.
if (isKnownOnlineDataEvent(event)) {
  proves<Equal<typeof event, KnownOnlineDataEvent>>();
  if (event.type === "POWER_OF_ATTORNEY_SIGNED") proves<Equal<typeof event.site_id, null>>();
  else proves<Equal<typeof event.site_id, number>>();
} else {
  proves<Equal<typeof event, UnknownOnlineDataEvent>>();
}

// Extra fields have no type until they are checked.
proves<Equal<ReturnType<typeof extraFields>, Record<string, unknown>>>();
const { region } = extraFields(alarm);
proves<Equal<typeof region, unknown>>();
extraFields(event);
// @ts-expect-error: text is no record
extraFields("alarm");
