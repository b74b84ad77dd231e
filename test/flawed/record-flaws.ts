import type { IncomingMessage } from "node:http";
import { HANGS, type Flaw } from "./flaw.js";
import {
  isFields,
  RightReceiver,
  type Answer,
  type Fields,
  type Request,
} from "./right-receiver.js";

const EVENTS = ["DELETION_REQUEST_SENT", "DATA_DELETED", "DATA_REAPPEARED", "PERSONAL_DATA_FOUND"];
const ISO_TIME = /^\d{4}-\d\d-\d\dT/;
const MAX_INT_32 = 2 ** 31 - 1;
const ALARM_FIELDS =
  "id text account_id severity status source event_type category_id original_event_id payload date checked_at created_at updated_at".split(
    " ",
  );
const EVENT_FIELDS =
  "type severity account_id client_id site_id site_name site_base_url occurred_at".split(" ");

/** Each refuses, drops or does not understand records that the gateway sends. */
export const recordFlaws: readonly Flaw[] = [
  // New fields and values.
  [
    "refuses an alarm with a new field",
    "unknown_fields",
    refusingAlarms((alarm) => hasOther(alarm, ALARM_FIELDS)),
  ],
  [
    "refuses an event with a new field",
    "unknown_fields",
    refusingEvents((event) => hasOther(event, EVENT_FIELDS)),
  ],
  [
    "refuses a new key beside the record",
    "unknown_fields",
    typing((parsed) => Object.keys(parsed).length === 1),
  ],
  [
    "takes the first key of the body for the record",
    "unknown_fields",
    typing((parsed) => ["alarm", "event"].includes(Object.keys(parsed)[0] ?? "")),
  ],
  [
    "refuses an alarm with a new severity",
    "unknown_values",
    refusingAlarms(({ severity }) => !["Low", "Medium", "High", "Info"].includes(String(severity))),
  ],
  [
    "refuses an event with a new severity",
    "unknown_values",
    refusingEvents(({ severity }) => !["SUCCESS", "INFO", "WARNING"].includes(String(severity))),
  ],
  [
    "refuses a new category",
    "unknown_values",
    refusingAlarms(({ category_id }) => Number(category_id) > 7),
  ],
  ["refuses a new source", "unknown_values", refusingAlarms(({ source }) => source === "BureauX")],
  [
    "drops a new event_type",
    "unknown_values",
    droppingRecords(({ event_type }) => event_type === "wallet_hacked"),
  ],
  [
    "does not know the alarms of bureaus",
    "alarm_types",
    refusingAlarms(({ source }) => source !== "BreachDb"),
  ],
  [
    "drops alarms of severity Info and Low",
    "alarm_types",
    droppingRecords(({ severity }) => severity === "Info" || severity === "Low"),
  ],
  [
    "does not know every event type",
    "event_types",
    refusingEvents(({ type }) => !EVENTS.includes(String(type))),
  ],
  ["needs a site in each event", "event_types", refusingEvents(({ site_id }) => site_id === null)],
  [
    "answers 422 to a new event type",
    "unknown_event_type",
    refusingEvents(({ type }) => type === "SITE_CLOSED"),
  ],
  [
    "acknowledges and drops a new event type",
    "unknown_event_type",
    droppingRecords(({ type }) => type === "SITE_CLOSED"),
  ],
  [
    "looks handlers up in an object with inherited members",
    "unknown_event_type",
    droppingRecords(({ type }) => String(type) in {}),
  ],
  ["answers 404 to a new webhook type", "unknown_webhook_type", answeringUnknown(404)],
  ["acknowledges and drops a new webhook type", "unknown_webhook_type", answeringUnknown(200)],
  [
    "has no handler for events and acknowledges them",
    "event",
    class extends RightReceiver {
      override check(_: Fields, { type }: Request) {
        return type === "new_alarm" ? undefined : ([200, "ignored"] as const);
      }
    },
  ],
  // Dates, numbers and missing fields.
  [
    "knows only legacy dates in alarms",
    "date_formats",
    refusingAlarms(({ created_at }) => ISO_TIME.test(String(created_at))),
  ],
  [
    "knows only ISO 8601 in alarms",
    "alarm",
    refusingAlarms(({ created_at }) => !ISO_TIME.test(String(created_at))),
  ],
  [
    "knows only ISO 8601 in events",
    "date_formats",
    refusingEvents(({ occurred_at }) => !ISO_TIME.test(String(occurred_at))),
  ],
  [
    "refuses digits as an alarm's id",
    "legacy_values",
    refusingAlarms(({ id }) => typeof id !== "number"),
  ],
  [
    "refuses digits as an event's account_id",
    "legacy_values",
    refusingEvents(({ account_id }) => typeof account_id !== "number"),
  ],
  [
    "refuses a number as client_id",
    "legacy_values",
    refusingEvents(({ client_id }) => typeof client_id === "number"),
  ],
  [
    "refuses an alarm without text",
    "missing_fields",
    refusingAlarms(({ text }) => text === undefined),
  ],
  [
    "refuses an alarm whose text is null",
    "missing_fields",
    refusingAlarms(({ text }) => text === null),
  ],
  [
    "refuses an event without client_id",
    "missing_fields",
    refusingEvents(({ client_id }) => client_id === undefined),
  ],
  [
    "refuses an event without site fields",
    "missing_fields",
    refusingEvents((event) => !("site_id" in event)),
  ],
  [
    "refuses an alarm without a payload",
    "missing_fields",
    refusingAlarms(({ payload }) => payload === undefined),
  ],
  [
    "refuses an alarm whose account_id is null",
    "missing_fields",
    refusingAlarms(({ account_id }) => account_id === null),
  ],
  [
    "acknowledges and drops an alarm without an id",
    "missing_fields",
    droppingRecords((record) => "payload" in record && record["id"] === undefined),
  ],
  [
    "refuses an event without a type",
    "missing_fields",
    refusingEvents(({ type }) => type === undefined),
  ],
  [
    "acknowledges and drops an event whose occurred_at is null",
    "missing_fields",
    droppingRecords(({ occurred_at }) => occurred_at === null),
  ],
  [
    "refuses alarms whose id does not fit 32 bits",
    "odd_values",
    refusingAlarms(({ id }) => Number(id) > MAX_INT_32),
  ],
  [
    "refuses accounts beyond 32 bits",
    "odd_values",
    refusingAlarms(({ account_id }) => Number(account_id) > MAX_INT_32),
  ],
  [
    "refuses an event of an account beyond 32 bits",
    "odd_values",
    refusingEvents(({ account_id }) => Number(account_id) > MAX_INT_32),
  ],
  [
    "refuses a new status",
    "odd_values",
    refusingAlarms(({ status }) => !["NEW", "CLOSED"].includes(String(status))),
  ],
  [
    "drops alarms that are not NEW",
    "odd_values",
    droppingRecords(({ status }) => status !== undefined && status !== "NEW"),
  ],
  // Payloads and odd members.
  [
    "answers 400 to a payload that is cut off",
    "odd_payload",
    refusingAlarms(({ payload }) => !isJson(payload)),
  ],
  [
    "answers 400 to an empty payload",
    "odd_payload",
    refusingAlarms(({ payload }) => payload === ""),
  ],
  [
    "answers 422 to the payload null",
    "odd_payload",
    refusingAlarms(({ payload }) => payload === "null"),
  ],
  [
    "answers 400 to a payload that is an object",
    "odd_payload",
    refusingAlarms(({ payload }) => isFields(payload)),
  ],
  [
    "acknowledges and drops an alarm whose payload is an object",
    "odd_payload",
    droppingRecords(({ payload }) => isFields(payload)),
  ],
  [
    "acknowledges and drops an alarm whose payload it cannot read",
    "odd_payload",
    droppingRecords(({ payload }) => payload !== undefined && !isJson(payload)),
  ],
  [
    "refuses __proto__ as a key",
    "odd_members",
    refusingTexts((text) => text.includes("__proto__")),
  ],
  [
    "refuses __proto__ in events",
    "odd_members",
    refusingTexts((text) => text.includes("__proto__") && text.includes('"event"')),
  ],
  ["refuses deep nesting", "odd_members", refusingTexts((text) => text.includes("[[[["))],
  ["refuses a NUL in a text", "odd_members", refusingTexts((text) => text.includes("\\u0000b"))],
  [
    "refuses half of a surrogate pair",
    "odd_members",
    refusingTexts((text) => text.includes("\\ud83d")),
  ],
  ["refuses big numbers", "odd_members", refusingTexts((text) => /\d{20}/.test(text))],
  [
    "ends its process when a record is nested deeply",
    "odd_members",
    class extends RightReceiver {
      hasEnded = false;
      override receive(req: IncomingMessage, body: Buffer) {
        this.hasEnded ||= body.includes("[[[[");
        if (this.hasEnded) throw new Error("ended");
        return super.receive(req, body);
      }
    },
  ],
  // Texts.
  ["refuses markup", "hostile_text", filtering(/<script/i)],
  ["refuses what looks like SQL", "hostile_text", filtering(/' OR \d/)],
  ["refuses paths to a parent folder", "hostile_text", filtering(/\.\.\//)],
  ["refuses what looks like a lookup of Log4j", "hostile_text", filtering(/\$\{jndi:/)],
  ["acknowledges and drops markup in events", "hostile_text", filtering(/"event".*<script/, 200)],
  [
    "decodes percent signs before it verifies",
    "hostile_text",
    verifyingText((text) =>
      text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
        String.fromCharCode(Number.parseInt(hex, 16)),
      ),
    ),
  ],
  [
    "puts the body into a template before it verifies",
    "hostile_text",
    verifyingText((text) => "BODY".replace("BODY", text)),
  ],
  [
    "decodes HTML before it verifies",
    "hostile_text",
    verifyingText((text) => text.replaceAll("&amp;", "&")),
  ],
  [
    "signs the text as Latin-1",
    "non_ascii",
    class extends RightReceiver {
      override mac(secret: string, request: Request) {
        return super.mac(secret, { ...request, body: Buffer.from(String(request.body), "latin1") });
      }
    },
  ],
  [
    "refuses site names beyond ASCII",
    "non_ascii",
    refusingEvents(({ site_name }) => /[^ -~]/.test(String(site_name))),
  ],
  [
    "removes backslashes before it parses",
    "nested_text",
    class extends RightReceiver {
      override parse(body: Buffer) {
        return JSON.parse(String(body).replaceAll("\\\\", "\\")) as unknown;
      }
    },
  ],
  ["takes at most 100 kB", "big_alarm", limitedTo(100_000)],
  [
    "takes at most 64 kB of an event",
    "big_alarm",
    refusingEvents((event) => JSON.stringify(event).length > 65_536),
  ],
  // Bodies that cannot be read.
  ["answers 400 to a body that it cannot read", "unreadable_body", onUnreadable(400)],
  ["acknowledges and drops a body that it cannot read", "unreadable_body", onUnreadable(200)],
  [
    "answers 422 to the JSON null",
    "unreadable_body",
    typing((parsed) => (parsed as unknown) !== null, 422),
  ],
  [
    "does not answer when a record is null",
    "unreadable_body",
    class extends RightReceiver {
      override process(request: Request) {
        const isNull = request.body.includes('"alarm":null');
        return isNull ? new Promise<never>(() => undefined) : super.process(request);
      }
    },
    HANGS,
  ],
  [
    "answers 400 to bytes that are not UTF-8",
    "invalid_utf8",
    class extends RightReceiver {
      override unreadable(error: unknown): Answer {
        return error instanceof SyntaxError ? [503, "no JSON"] : [400, "no UTF-8"];
      }
    },
  ],
  [
    "answers 400 to a byte order mark",
    "byte_order_mark",
    class extends RightReceiver {
      override check(_: Fields, { body }: Request) {
        return body[0] === 0xef ? ([400, "byte order mark"] as const) : undefined;
      }
    },
  ],
];

function refusingAlarms(isRefused: (alarm: Fields) => boolean) {
  return refusingRecords("new_alarm", isRefused);
}

function refusingEvents(isRefused: (event: Fields) => boolean) {
  return refusingRecords("delete_my_data_event", isRefused);
}

/** Answers 422 to records that a strict schema would refuse. */
function refusingRecords(of: string, isRefused: (record: Fields) => boolean) {
  return class extends RightReceiver {
    override check(record: Fields, { type }: Request) {
      return type === of && isRefused(record) ? ([422, "invalid record"] as const) : undefined;
    }
  };
}

/** Acknowledges records without handling them. */
function droppingRecords(isDropped: (record: Fields) => boolean) {
  return class extends RightReceiver {
    override check(record: Fields) {
      return isDropped(record) ? ([200, "dropped"] as const) : undefined;
    }
  };
}

/** Answers 400 to bodies that a parser would refuse. */
function refusingTexts(isRefused: (text: string) => boolean) {
  return class extends RightReceiver {
    override check(_: Fields, { body }: Request) {
      return isRefused(String(body)) ? ([400, "invalid JSON"] as const) : undefined;
    }
  };
}

/** Computes the signature of a text that it has changed. */
function verifyingText(change: (text: string) => string) {
  return class extends RightReceiver {
    override mac(secret: string, request: Request) {
      return super.mac(secret, { ...request, body: Buffer.from(change(String(request.body))) });
    }
  };
}

/** Answers for a firewall to genuine bodies that look like an attack. */
function filtering(pattern: RegExp, status = 403) {
  return class extends RightReceiver {
    override check(_: Fields, { body }: Request) {
      return pattern.test(String(body)) ? ([status, "blocked"] as const) : undefined;
    }
  };
}

/** Takes only some bodies for records. */
function typing(isRecord: (parsed: Fields) => boolean, status = 422) {
  return class extends RightReceiver {
    override typeOf(parsed: unknown, request: Request) {
      return isRecord(parsed as Fields) ? super.typeOf(parsed, request) : undefined;
    }
    override unknown(): Answer {
      return [status, "unknown"];
    }
  };
}

function answeringUnknown(status: number) {
  return class extends RightReceiver {
    override unknown(): Answer {
      return [status, "unknown"];
    }
  };
}

function onUnreadable(status: number) {
  return class extends RightReceiver {
    override unreadable(): Answer {
      return [status, "unreadable"];
    }
  };
}

function limitedTo(maxBytes: number) {
  return class extends RightReceiver {
    override readBody(req: IncomingMessage) {
      return super.readBody(req, maxBytes);
    }
  };
}

function hasOther(record: Fields, fields: readonly string[]): boolean {
  return isFields(record) && Object.keys(record).some((key) => !fields.includes(key));
}

function isJson(text: unknown): boolean {
  try {
    JSON.parse(String(text));
    return true;
  } catch {
    return false;
  }
}
