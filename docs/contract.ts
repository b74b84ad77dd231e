// contract/openapi.json: what the gateway sends, for receivers in any language.
import {
  ALARM,
  EVENT,
  EVENT_TYPES,
  FINAL_STATUSES,
  RETRYABLE_STATUSES,
  WEBHOOK_TYPES,
  type Fields,
} from "../src/common/gateway-facts.js";
import { HEADERS, MAX_TIMESTAMP_LENGTH, MAX_TOKEN_LENGTH } from "../src/delivery/headers.js";

const TOKEN = `^[0-9A-Za-z._-]{1,${String(MAX_TOKEN_LENGTH)}}$`;
const PATTERNS = {
  id: TOKEN,
  timestamp: `^[0-9]{1,${String(MAX_TIMESTAMP_LENGTH)}}$`,
  type: TOKEN,
  signature: "^v1=[0-9A-Fa-f]{64}$",
} satisfies Record<keyof typeof HEADERS, string>;

const KINDS = {
  integer: { type: "integer" },
  text: { type: "string" },
  time: {
    type: "string",
    description: "`YYYY-MM-DD HH:MM:SS` in UTC, or ISO 8601 with a zone",
    examples: ["2026-07-08 10:00:00", "2026-07-08T10:00:00Z"],
  },
  json: { type: "string", contentMediaType: "application/json" },
} as const satisfies Record<Fields[string]["kind"], object>;

/** The schema of a record. Every documented field is there; others, and other values, may be added at any time. */
function recordOf(fields: Fields): object {
  const properties = Object.entries(fields).map(([name, { kind, values, ofSite }]) => {
    const schema = ofSite === true ? { type: [KINDS[kind].type, "null"] } : KINDS[kind];
    return [name, values === undefined ? schema : { ...schema, examples: values }] as const;
  });
  return {
    type: "object",
    required: Object.keys(fields),
    properties: Object.fromEntries(properties),
  };
}

/** Whether the fields of the site are set, by type. */
function siteRules(): object[] {
  const ofSite = Object.entries<Fields[string]>(EVENT).filter(([, field]) => field.ofSite === true);
  return Object.entries(EVENT_TYPES).map(([type, { hasSite }]) => ({
    if: { properties: { type: { const: type } }, required: ["type"] },
    then: {
      properties: Object.fromEntries(
        ofSite.map(([name, { kind }]) => [name, hasSite ? KINDS[kind] : { type: "null" }]),
      ),
    },
  }));
}

const RECORDS = {
  new_alarm: ["alarm", "Alarm", recordOf(ALARM)],
  delete_my_data_event: ["event", "OnlineDataEvent", { ...recordOf(EVENT), allOf: siteRules() }],
} as const satisfies Record<
  (typeof WEBHOOK_TYPES)[number],
  readonly [key: string, title: string, schema: object]
>;

const again = { description: "The gateway sends the delivery again, up to ten times." };
const final = { description: "The gateway gives the delivery up for good: never answer it." };
const RESPONSES = {
  "2XX": { description: "The delivery was handled. The gateway does not send it again." },
  ...Object.fromEntries(RETRYABLE_STATUSES.map((status) => [status, again])),
  ...Object.fromEntries(FINAL_STATUSES.map((status) => [status, final])),
};

function webhookOf(type: (typeof WEBHOOK_TYPES)[number]): object {
  const [key, title] = RECORDS[type];
  const parameters = Object.entries(HEADERS).map(([header, { name, neededBy }]) => ({
    name,
    in: "header",
    required: neededBy === "delivery",
    schema:
      header === "type"
        ? { const: type }
        : { type: "string", pattern: PATTERNS[header as keyof typeof HEADERS] },
  }));
  return {
    post: {
      operationId: type,
      summary: `A delivery of type ${type}`,
      description:
        "X-Webhook-Signature is `v1=` and the HMAC-SHA256, in hexadecimal digits, of `v1:` timestamp `:` id `:` and the exact bytes of the body.",
      parameters,
      requestBody: {
        required: true,
        content: {
          "application/json": {
            schema: {
              type: "object",
              required: [key],
              properties: { [key]: { $ref: `#/components/schemas/${title}` } },
            },
          },
        },
      },
      responses: RESPONSES,
    },
  };
}

/** The text of contract/openapi.json. */
export function openApi(): string {
  const document = {
    openapi: "3.1.0",
    info: {
      title: "Webhooks of the Identity Protection Gateway",
      version: "2026-07-08",
      description:
        "The deliveries that a receiver gets. fixtures/index.json names recorded deliveries for each rule, and the answer that each must get.",
      license: { name: "MIT", identifier: "MIT" },
    },
    webhooks: Object.fromEntries(WEBHOOK_TYPES.map((type) => [type, webhookOf(type)])),
    components: {
      schemas: Object.fromEntries(
        Object.values(RECORDS).map(([, title, schema]) => [title, schema]),
      ),
    },
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}
