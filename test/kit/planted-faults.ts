import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { sampleAlarm } from "../../kit/samples/sample-alarm.js";
import { sampleOnlineDataEvent } from "../../kit/samples/sample-online-data-event.js";
import type { DiagnoseSignatureOptions } from "../../kit/diagnosis/diagnose-signature.js";
import {
  captured,
  ID,
  macOf,
  NOW_MS,
  TIMESTAMP,
  type Capture,
  type Signed,
} from "./diagnosis-capture.js";

/** A delivery with one fault, or with two, and the code that its first finding must have. */
export interface PlantedFault {
  readonly what: string;
  readonly code: string;
  /** The capture, for the secret that is in use. */
  readonly plant: (secret: string) => DiagnoseSignatureOptions;
}

const TEXT = 'Ångström – <b>"canary" & co</b>, it\'s = at https://shop.example/å';
const RECORD = { ...sampleAlarm({ text: TEXT }, { seed: 7 }), risk_score: 12 };
export const ALARM = JSON.stringify({ alarm: RECORD });
export const EVENT = JSON.stringify({
  event: sampleOnlineDataEvent("DATA_REAPPEARED", {}, { seed: 7 }),
});
const BYTES = Buffer.from(ALARM);
const LENGTH = { "Content-Length": String(BYTES.length) };

/** Faults of the secret: signed with the first, configured with the second. */
const SECRETS: readonly [
  what: string,
  code: string,
  signing: (secret: string) => string | Uint8Array,
  given: (secret: string) => string | readonly string[],
][] = [
  ["a newline after the configured secret", "secret_whitespace", same, (s) => `${s}\n`],
  ["CRLF after the configured secret", "secret_whitespace", same, (s) => `${s}\r\n`],
  ["blanks around the configured secret", "secret_whitespace", same, (s) => `  ${s} `],
  ["a tab after the configured secret", "secret_whitespace", same, (s) => `${s}\t`],
  ["a newline after the registered secret", "secret_whitespace", (s) => `${s}\n`, same],
  ["CRLF after the registered secret", "secret_whitespace", (s) => `${s}\r\n`, same],
  ["a blank after the registered secret", "secret_whitespace", (s) => `${s} `, same],
  ["CRLF on one side and LF on the other", "secret_whitespace", (s) => `${s}\r\n`, (s) => `${s}\n`],
  ["a byte order mark", "secret_bom", same, (s) => `\uFEFF${s}`],
  ["a byte order mark read as Latin-1", "secret_bom", same, (s) => `ï»¿${s}`],
  ["a byte order mark and a newline", "secret_bom", same, (s) => `\uFEFF${s}\r\n`],
  ["double quotes", "secret_quoted", same, (s) => `"${s}"`],
  ["single quotes", "secret_quoted", same, (s) => `'${s}'`],
  ["double quotes and a newline", "secret_quoted", same, (s) => `"${s}"\n`],
  ["quotes in the registered secret", "secret_quoted", (s) => `"${s}"`, same],
  ["its variable's name", "secret_assignment", same, (s) => `GATEWAY_WEBHOOK_SECRET=${s}`],
  ["its export line", "secret_assignment", same, (s) => `export SECRET="${s}"\n`],
  ["its line of YAML", "secret_assignment", same, (s) => `webhook_secret: ${s}`],
  ["two in one text", "secret_joined", same, (s) => `whsec_old,${s}`],
  ["two on two lines", "secret_joined", same, (s) => `${s}\nwhsec_old\n`],
  ["a JSON list in one text", "secret_joined", same, (s) => `["whsec_old", "${s}"]`],
  [
    "two joined by a comma on a line of an .env file",
    "secret_joined",
    same,
    (s) => `SECRET="${s},whsec_old"`,
  ],
  ["two lines of an .env file", "secret_joined", same, (s) => `OLD=whsec_old\nNEW='${s}'\n`],
  [
    "two, joined where it was registered",
    "secret_joined",
    (s) => `${s},whsec_new`,
    (s) => [s, "whsec_new"],
  ],
  ["itself, pasted twice", "secret_repeated", same, (s) => s + s],
  ["itself, pasted three times", "secret_repeated", same, (s) => s + s + s],
  ["itself, pasted twice with a newline at the end", "secret_repeated", same, (s) => `${s}${s}\n`],
  ["itself on two lines", "secret_repeated", same, (s) => `${s}\n${s}\n`],
  ["itself in quotes, twice", "secret_repeated", same, (s) => `"${s}${s}"`],
  ["itself, pasted twice where it was registered", "secret_repeated", (s) => s + s, same],
  [
    "itself twice after its variable's name",
    "secret_repeated",
    same,
    (s) => `WEBHOOK_SECRET=${s}${s}`,
  ],
  [
    "its variable's name with dots",
    "secret_assignment",
    same,
    (s) => `gateway.webhook.secret=${s}`,
  ],
  ["its line of JSON", "secret_assignment", same, (s) => `"webhook-secret": "${s}",`],
  ["its line of PowerShell", "secret_assignment", same, (s) => `$env:WEBHOOK_SECRET = "${s}"`],
  ["its line of a shell of Windows", "secret_assignment", same, (s) => `set WEBHOOK_SECRET=${s}`],
  ["its line of a Dockerfile", "secret_assignment", same, (s) => `ENV WEBHOOK_SECRET=${s}`],
  ["its line with a comment", "secret_assignment", same, (s) => `WEBHOOK_SECRET=${s} # gateway`],
  ["its line of JavaScript", "secret_assignment", same, (s) => `const secret = "${s}";`],
  [
    "a variable's name where it was registered",
    "secret_assignment",
    (s) => `WEBHOOK_SECRET=${s}`,
    same,
  ],
  ["an escaped newline", "secret_escaped", same, (s) => `${s}\\n`],
  ["base64", "secret_encoded", same, (s) => base64(s)],
  ["base64 of it with a newline", "secret_encoded", same, (s) => base64(`${s}\n`)],
  ["base64 by the sender", "secret_encoded", (s) => base64(s), same],
  ["hexadecimal", "secret_encoded", same, (s) => Buffer.from(s).toString("hex")],
  [
    "the key of Standard Webhooks",
    "secret_encoded",
    (s) => Buffer.from(s.slice(6), "base64"),
    same,
  ],
  ["no whsec_ by the sender", "secret_encoded", (s) => s.slice(6), same],
  ["no whsec_ in the configured secret", "secret_encoded", same, (s) => s.slice(6)],
  ["percent-encoding", "secret_encoded", (s) => `${s}/+%`, (s) => encodeURIComponent(`${s}/+%`)],
  [
    "percent-encoding by the sender",
    "secret_encoded",
    (s) => encodeURIComponent(`${s} /`),
    (s) => `${s} /`,
  ],
  ["upper case", "secret_letter_case", (s) => s.toLowerCase(), (s) => s.toUpperCase()],
  [
    "another normal form",
    "secret_charset",
    (s) => `${s}å`.normalize("NFC"),
    (s) => `${s}å`.normalize("NFD"),
  ],
  ["Latin-1", "secret_charset", (s) => Buffer.from(`${s}ø`, "latin1"), (s) => `${s}ø`],
  [
    "UTF-8 read as Latin-1",
    "secret_charset",
    (s) => `${s}ø`,
    (s) => Buffer.from(`${s}ø`).toString("latin1"),
  ],
  ["an empty secret of the sender", "secret_unset", () => "", same],
  ["the text undefined as the sender's secret", "secret_unset", () => "undefined", same],
  ["the text null as the sender's secret", "secret_unset", () => "null", same],
  ["the text None as the sender's secret", "secret_unset", () => "None", same],
  ["the text undefined as the configured secret", "secret_unset", same, () => "undefined"],
  ["an empty configured secret", "secret_unset", same, () => ""],
];

/** Faults of the headers: values that replace the signed ones. */
const HEADERS: readonly [
  what: string,
  code: string,
  change: (hex: string) => NonNullable<Capture["change"]>,
][] = [
  [
    "an id with underscores in its name",
    "header_renamed",
    () => ({ "X-Webhook-Id": undefined, x_webhook_id: ID }),
  ],
  ["an id without X-", "header_renamed", () => ({ "X-Webhook-Id": undefined, "Webhook-Id": ID })],
  [
    "an id under CGI's name",
    "header_renamed",
    () => ({ "X-Webhook-Id": undefined, HTTP_X_WEBHOOK_ID: ID }),
  ],
  ["an id that is sent twice", "header_repeated", () => ({ "X-Webhook-Id": [ID, ID] })],
  ["an id joined with another", "header_repeated", () => ({ "X-Webhook-Id": `other, ${ID}` })],
  [
    "two timestamps in one header",
    "header_repeated",
    () => ({ "X-Webhook-Timestamp": `${TIMESTAMP}, 1760000099` }),
  ],
  [
    "two signatures in one header",
    "header_repeated",
    (hex) => ({ "X-Webhook-Signature": `v1=${"0".repeat(64)}, v1=${hex}` }),
  ],
  ["a blank before the id", "header_whitespace", () => ({ "X-Webhook-Id": ` ${ID}` })],
  [
    "a tab after the timestamp",
    "header_whitespace",
    () => ({ "X-Webhook-Timestamp": `${TIMESTAMP}\t` }),
  ],
  [
    "a signature in quotes",
    "header_whitespace",
    (hex) => ({ "X-Webhook-Signature": `"v1=${hex}"` }),
  ],
  ["a signature without v1=", "signature_prefix", (hex) => ({ "X-Webhook-Signature": hex })],
  [
    "a signature with sha256=",
    "signature_prefix",
    (hex) => ({ "X-Webhook-Signature": `sha256=${hex}` }),
  ],
  [
    "a signature in Stripe's fields",
    "signature_prefix",
    (hex) => ({ "X-Webhook-Signature": `t=${TIMESTAMP},v1=${hex}` }),
  ],
  [
    "a signature in base64",
    "signature_encoding",
    (hex) => ({ "X-Webhook-Signature": `v1=${Buffer.from(hex, "hex").toString("base64")}` }),
  ],
  [
    "a signature cut at 50 characters",
    "signature_length",
    (hex) => ({ "X-Webhook-Signature": `v1=${hex}`.slice(0, 50) }),
  ],
  [
    "a doubled signature",
    "signature_length",
    (hex) => ({ "X-Webhook-Signature": `v1=${hex}${hex}` }),
  ],
  ["an id in upper case", "id_respelled", () => ({ "X-Webhook-Id": ID.toUpperCase() })],
  ["an id without dashes", "id_respelled", () => ({ "X-Webhook-Id": ID.replaceAll("-", "") })],
  ["an id in braces", "id_respelled", () => ({ "X-Webhook-Id": `{${ID}}` })],
  [
    "a timestamp in milliseconds",
    "timestamp_unit",
    () => ({ "X-Webhook-Timestamp": `${TIMESTAMP}000` }),
  ],
  [
    "a timestamp as a date",
    "timestamp_format",
    () => ({ "X-Webhook-Timestamp": new Date(NOW_MS).toISOString() }),
  ],
  [
    "a timestamp with decimals",
    "timestamp_format",
    () => ({ "X-Webhook-Timestamp": `${TIMESTAMP}.0` }),
  ],
  [
    "id and timestamp exchanged",
    "headers_swapped",
    () => ({ "X-Webhook-Id": TIMESTAMP, "X-Webhook-Timestamp": ID }),
  ],
  ...[3_600, -3_600, 7_200, -18_000, 19_800, 20_700, -34_200, 45_900, 50_400, -50_400].map(
    (seconds): (typeof HEADERS)[number] => [
      `a timestamp in another zone, by ${String(seconds / 3_600)} h`,
      "timestamp_moved",
      () => ({ "X-Webhook-Timestamp": moved(seconds) }),
    ],
  ),
  ...[1, -1, 2, 7, -30, 61, 299, 1_234, -3_599].map((seconds): (typeof HEADERS)[number] => [
    `a timestamp written anew, by ${String(seconds)} s`,
    "timestamp_moved",
    () => ({ "X-Webhook-Timestamp": moved(seconds) }),
  ]),
  [
    "a timestamp as a date without a zone, in the zone of a proxy",
    "timestamp_format",
    () => ({
      "X-Webhook-Timestamp": new Date(NOW_MS + 7_200_000)
        .toISOString()
        .slice(0, 19)
        .replace("T", " "),
    }),
  ],
  [
    "a timestamp in milliseconds and another zone",
    "timestamp_unit",
    () => ({ "X-Webhook-Timestamp": `${moved(-3_600)}000` }),
  ],
  ["no id", "header_missing", () => ({ "X-Webhook-Id": undefined })],
  ["no timestamp", "header_missing", () => ({ "X-Webhook-Timestamp": undefined })],
  ["no type", "header_missing", () => ({ "X-Webhook-Type": undefined })],
  ["no signature", "header_missing", () => ({ "X-Webhook-Signature": undefined })],
  ["the other type", "type_mismatch", () => ({ "X-Webhook-Type": "delete_my_data_event" })],
];

/** Other ways to sign. */
const SCHEMES: readonly [what: string, code: string, signed: Signed][] = [
  ["signed without v1:", "other_scheme", { prefix: `${TIMESTAMP}:${ID}:` }],
  ["signed as Standard Webhooks", "other_scheme", { prefix: `${ID}.${TIMESTAMP}.` }],
  ["signed as Stripe", "other_scheme", { prefix: `${TIMESTAMP}.` }],
  ["signed as Slack", "other_scheme", { prefix: `v0:${TIMESTAMP}:` }],
  ["signed as GitHub", "other_scheme", { prefix: "" }],
  ["signed with id and timestamp exchanged", "other_scheme", { prefix: `v1:${ID}:${TIMESTAMP}:` }],
  ["signed with the type", "other_scheme", { prefix: `v1:${TIMESTAMP}:new_alarm:${ID}:` }],
  ["signed with sha512", "other_digest", { hash: "sha512" }],
  ["signed with sha1", "other_digest", { hash: "sha1" }],
  ["signed before there was a body", "body_signed_empty", { body: "" }],
  ["signed in milliseconds", "timestamp_unit", { timestamp: `${TIMESTAMP}000` }],
  ["signed half an hour ago", "timestamp_behind", { timestamp: String(NOW_MS / 1000 - 1_800) }],
  ["signed in two hours", "timestamp_ahead", { timestamp: String(NOW_MS / 1000 + 7_200) }],
];

/** Faults of the body: what arrives in place of the signed body. */
const BODIES: readonly [
  what: string,
  code: string,
  body: unknown,
  signed?: string | Uint8Array,
  change?: Capture["change"],
][] = [
  ["LF added", "body_trailing_newline", `${ALARM}\n`],
  ["CRLF added", "body_trailing_newline", `${ALARM}\r\n`],
  ["LF lost", "body_trailing_newline", ALARM, `${ALARM}\n`],
  ["blanks added", "body_whitespace", ` ${ALARM} \t`],
  ["a byte order mark added", "body_bom", `\uFEFF${ALARM}`],
  ["a byte order mark lost", "body_bom", ALARM, `\uFEFF${ALARM}`],
  ["wrapped into lines", "body_line_ends", ALARM.replace(/(.{76})/g, "$1\r\n")],
  ["followed by the next request", "body_extra_bytes", `${ALARM}POST / HTTP/1.1`, ALARM, LENGTH],
  ["UTF-16 with a mark", "body_utf16", Buffer.from(`\uFEFF${ALARM}`, "utf16le")],
  ["UTF-16 with a newline", "body_utf16", Buffer.from(`${ALARM}\r\n`, "utf16le")],
  ["big-endian UTF-16", "body_utf16", Buffer.from(ALARM, "utf16le").swap16()],
  ["encoded to UTF-8 twice", "body_charset", Buffer.from(BYTES.toString("latin1"), "utf8")],
  [
    "encoded twice through Windows-1252",
    "body_charset",
    Buffer.from(new TextDecoder("windows-1252").decode(BYTES)),
  ],
  [
    "captured in Latin-1",
    "body_charset",
    Buffer.from(ALARM.replace("–", "-"), "latin1"),
    ALARM.replace("–", "-"),
  ],
  ["normalised", "body_normalised", ALARM.normalize("NFD")],
  ["percent-encoded", "body_percent_encoded", encodeURIComponent(ALARM)],
  ["the key of a form", "body_percent_encoded", new URLSearchParams([[ALARM, ""]]).toString()],
  ["a field of a form", "body_form_encoded", new URLSearchParams({ payload: ALARM }).toString()],
  ["an object of a form parser", "body_form_encoded", JSON.stringify({ [ALARM]: "" })],
  ["base64", "body_base64", BYTES.toString("base64")],
  ["base64 in lines", "body_base64", BYTES.toString("base64").replace(/(.{76})/g, "$1\n")],
  ["base64 in a JSON string", "body_base64", JSON.stringify(BYTES.toString("base64"))],
  ["hexadecimal", "body_hex", BYTES.toString("hex")],
  ["PostgreSQL's bytea", "body_hex", `\\x${BYTES.toString("hex")}`],
  ["a Buffer in JSON", "body_bytes_listed", JSON.stringify(BYTES)],
  ["a Uint8Array in JSON", "body_bytes_listed", JSON.stringify(new Uint8Array(BYTES))],
  ["a Uint8Array as text", "body_bytes_listed", String(new Uint8Array(BYTES))],
  ["a JSON string", "body_quoted", JSON.stringify(ALARM)],
  ["the escapes of a log", "body_quoted", JSON.stringify(ALARM).slice(1, -1)],
  ["the quotes of a shell", "body_quoted", `'${ALARM}'`],
  [
    "HTML entities",
    "body_html_escaped",
    ALARM.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;"),
  ],
  ["an event of a function", "body_enveloped", JSON.stringify({ version: "2.0", body: ALARM })],
  [
    "an event of a function in base64",
    "body_enveloped",
    JSON.stringify({ body: BYTES.toString("base64") }),
  ],
  ["the record without its wrapper", "body_unwrapped", ALARM.slice('{"alarm":'.length, -1)],
  ["gzip", "body_compressed", gzipSync(BYTES)],
  ["deflate", "body_compressed", deflateSync(BYTES)],
  ["brotli", "body_compressed", brotliCompressSync(BYTES), ALARM, { "Content-Encoding": "br" }],
  [
    "chunks",
    "body_chunked",
    `8\r\n${ALARM.slice(0, 8)}\r\n${(BYTES.length - 8).toString(16)}\r\n${ALARM.slice(8)}\r\n0\r\n\r\n`,
  ],
  ["an object such as req.body", "body_parsed", JSON.parse(ALARM) as unknown],
  ["nothing left", "body_empty", ""],
  ["what Express 4 leaves", "body_empty", "{}"],
  ["an object as text", "body_object_text", "[object Object]"],
  [
    "invalid UTF-8 replaced",
    "body_replacement_characters",
    ALARM.replace("Å", "\uFFFD"),
    Buffer.from(ALARM.replace("–", "-"), "latin1"),
  ],
  ["gzip cut short", "body_compressed", gzipSync(BYTES).subarray(0, 60)],
];

/** Where a body is cut. Without Content-Length only the JSON shows it. */
const CUTS: readonly [what: string, body: unknown, change?: Capture["change"]][] = [
  ["at 100 bytes, with its length", BYTES.subarray(0, 100), LENGTH],
  ["in a text", ALARM.slice(0, ALARM.indexOf("canary"))],
  ["in a character of two bytes", BYTES.subarray(0, BYTES.indexOf("Å") + 1)],
  ["in an escape", ALARM.slice(0, ALARM.indexOf('\\"') + 1)],
  ["in a key", ALARM.slice(0, ALARM.indexOf("account_id") + 3)],
  ["after a key", ALARM.slice(0, ALARM.indexOf("account_id") + 11)],
  ["before a value", ALARM.slice(0, ALARM.indexOf("account_id") + 12)],
  ["in a number", ALARM.slice(0, ALARM.indexOf("account_id") + 14)],
  ["after a comma", ALARM.slice(0, ALARM.indexOf(',"account_id"') + 1)],
  ["before the last brace", ALARM.slice(0, -1)],
  ["with three dots by a log", `${ALARM.slice(0, 200)}...`],
  ["with a count by Node's inspector", `${ALARM.slice(0, 120)}... 512 more characters`],
  ["with a mark by a log service", `${ALARM.slice(0, 160)}[truncated]`],
];

/** The same JSON as another program writes it: what is captured, and what was signed. */
const SPELLINGS: readonly [what: string, code: string, body: string, signed?: string][] = [
  ["indented by 2", "body_reserialised", JSON.stringify({ alarm: RECORD }, null, 2)],
  ["indented by 4", "body_reserialised", JSON.stringify({ alarm: RECORD }, null, 4)],
  ["indented by tabs", "body_reserialised", JSON.stringify({ alarm: RECORD }, null, "\t")],
  ["written by Python", "body_reserialised", ascii(spaced(RECORD))],
  ["written by PHP", "body_escapes", ascii(ALARM).replaceAll("/", "\\/")],
  ["written by Go", "body_escapes", goEscapes(ALARM)],
  [
    "signed by PHP and written by JavaScript",
    "body_escapes",
    ALARM,
    ascii(ALARM).replaceAll("/", "\\/"),
  ],
  ["signed by Python and written by JavaScript", "body_reserialised", ALARM, ascii(spaced(RECORD))],
  [
    "sorted by a map of Go",
    "body_key_order",
    goEscapes(JSON.stringify({ alarm: sorted(RECORD, byText) })),
  ],
  ["sorted by Python's sort_keys", "body_key_order", ascii(spaced(sorted(RECORD, byText)))],
  ["sorted by PostgreSQL's jsonb", "body_key_order", spaced(sorted(RECORD, byLength))],
  [
    "sorted and indented",
    "body_key_order",
    `${JSON.stringify({ alarm: sorted(RECORD, byText) }, null, 2)}\n`,
  ],
  [
    "signed by PHP and sorted by a map of Go",
    "body_key_order",
    goEscapes(JSON.stringify({ alarm: sorted(RECORD, byText) })),
    ascii(ALARM).replaceAll("/", "\\/"),
  ],
  [
    "signed by Python and sorted by jsonb",
    "body_key_order",
    spaced(sorted(RECORD, byLength)),
    ascii(spaced(RECORD)),
  ],
  [
    "signed with sorted keys",
    "body_key_order",
    ALARM,
    JSON.stringify({ alarm: sorted(RECORD, byText) }),
  ],
];

/** Authentic bodies that no handler takes. */
const RECORDS: readonly [what: string, code: string, body: string, type?: string][] = [
  ["neither alarm nor event", "body_unrecognized", '{"foo":1}'],
  ["an empty object", "body_unrecognized", "{}"],
  ["no JSON", "body_unrecognized", "hello"],
  ["a number", "body_unrecognized", "7"],
  ["alarm and event", "body_unrecognized", `{"alarm":${JSON.stringify(RECORD)},"event":{}}`],
  ["a list of alarms", "body_unrecognized", JSON.stringify({ alarm: [RECORD] })],
  [
    "an alarm without its account",
    "body_unrecognized",
    JSON.stringify({ alarm: { ...RECORD, account_id: undefined } }),
  ],
  [
    "an event without its fields",
    "body_unrecognized",
    '{"event":{"type":"DATA_DELETED"}}',
    "delete_my_data_event",
  ],
  ["an event under the type of alarms", "type_mismatch", EVENT],
];

/** Two faults at once; the code is that of the first finding. */
const PAIRS: readonly [what: string, code: string, plant: PlantedFault["plant"]][] = [
  [
    "a newline after the secret and after the body",
    "secret_whitespace",
    (s) => captured({ secret: s, body: ALARM }, { secret: `${s}\n`, body: `${ALARM}\n` }),
  ],
  [
    "quotes around the secret and an indented body",
    "secret_quoted",
    (s) =>
      captured(
        { secret: s, body: ALARM },
        { secret: `"${s}"`, body: JSON.stringify({ alarm: RECORD }, null, 2) },
      ),
  ],
  [
    "a name before the secret and a timestamp in another zone",
    "timestamp_moved",
    (s) =>
      captured(
        { secret: s, body: ALARM },
        { secret: `WEBHOOK_SECRET=${s}`, change: { "X-Webhook-Timestamp": moved(3_600) } },
      ),
  ],
  [
    "an old delivery with the time of its replay",
    "timestamp_moved",
    (s) =>
      captured(
        { secret: s, body: ALARM, timestamp: moved(-3_000) },
        { secret: s, change: { "X-Webhook-Timestamp": TIMESTAMP } },
      ),
  ],
  [
    "a stale delivery whose record is unknown",
    "timestamp_behind",
    (s) => captured({ secret: s, body: '{"foo":1}', timestamp: moved(-3_000) }, { secret: s }),
  ],
  [
    "a secret in base64 and a body in base64",
    "secret_encoded",
    (s) =>
      captured({ secret: s, body: ALARM }, { secret: base64(s), body: BYTES.toString("base64") }),
  ],
  [
    "a renamed header and a newline after the body",
    "header_renamed",
    (s) =>
      captured(
        { secret: s, body: ALARM },
        { secret: s, body: `${ALARM}\n`, change: { "X-Webhook-Id": undefined, "Webhook-Id": ID } },
      ),
  ],
  [
    "an id in upper case and a secret with a newline",
    "id_respelled",
    (s) =>
      captured(
        { secret: s, body: ALARM },
        { secret: `${s}\n`, change: { "X-Webhook-Id": ID.toUpperCase() } },
      ),
  ],
  [
    "an event sorted by a map of Go",
    "body_key_order",
    (s) =>
      captured(
        { secret: s, body: EVENT },
        {
          secret: s,
          body: JSON.stringify({
            event: sorted((JSON.parse(EVENT) as { event: object }).event, byText),
          }),
          change: { "X-Webhook-Type": "delete_my_data_event" },
        },
      ),
  ],
  [
    "the secret of the other type",
    "other_secret",
    (s) =>
      captured(
        { secret: s, body: ALARM },
        { secret: { new_alarm: "whsec_of_alarms", delete_my_data_event: s } },
      ),
  ],
  [
    "the other type, with secrets by type",
    "type_mismatch",
    (s) =>
      captured(
        { secret: s, body: ALARM },
        {
          secret: { new_alarm: s, delete_my_data_event: "whsec_of_events" },
          change: { "X-Webhook-Type": "delete_my_data_event" },
        },
      ),
  ],
  [
    "a newline after the secret of its type",
    "secret_whitespace",
    (s) =>
      captured(
        { secret: s, body: ALARM },
        { secret: { new_alarm: ["whsec_old", `${s}\n`], delete_my_data_event: "whsec_of_events" } },
      ),
  ],
  [
    "an old secret",
    "other_secret",
    (s) =>
      captured(
        { secret: s, body: ALARM },
        { secret: "whsec_new_0123456789", otherSecrets: ["whsec_older", s] },
      ),
  ],
  [
    "a GET request",
    "method_not_post",
    (s) => captured({ secret: s, body: ALARM }, { secret: s, method: "GET" }),
  ],
  [
    "a body over the limit",
    "body_too_large",
    (s) => captured({ secret: s, body: ALARM }, { secret: s, maxBodyBytes: 100 }),
  ],
  [
    "no webhook header at all",
    "all_headers_missing",
    (s) => ({
      ...captured({ secret: s, body: ALARM }, { secret: s }),
      headers: { Host: "a.example" },
    }),
  ],
];

/** Every planted fault by its group. */
export const PLANTED_FAULTS: Readonly<Record<string, readonly PlantedFault[]>> = {
  secrets: SECRETS.map(([what, code, signing, given]) => ({
    what,
    code,
    plant: (s) => captured({ secret: signing(s), body: ALARM }, { secret: given(s) }),
  })),
  headers: HEADERS.map(([what, code, change]) => ({
    what,
    code,
    plant: (s) => {
      const signed = { secret: s, body: ALARM };
      return captured(signed, { secret: s, change: change(macOf(signed).toString("hex")) });
    },
  })),
  schemes: SCHEMES.map(([what, code, signed]) => ({
    what,
    code,
    plant: (s) => captured({ body: ALARM, ...signed, secret: s }, { secret: s, body: ALARM }),
  })),
  bodies: BODIES.map(([what, code, body, signed = ALARM, change = {}]) => ({
    what,
    code,
    plant: (s) => captured({ secret: s, body: signed }, { secret: s, body, change }),
  })),
  cuts: CUTS.map(([what, body, change = {}]) => ({
    what,
    code: "body_truncated",
    plant: (s) => captured({ secret: s, body: ALARM }, { secret: s, body, change }),
  })),
  spellings: SPELLINGS.map(([what, code, body, signed = ALARM]) => ({
    what,
    code,
    plant: (s) => captured({ secret: s, body: signed }, { secret: s, body }),
  })),
  records: RECORDS.map(([what, code, body, type = "new_alarm"]) => ({
    what,
    code,
    plant: (s) => captured({ secret: s, body }, { secret: s, change: { "X-Webhook-Type": type } }),
  })),
  pairs: PAIRS.map(([what, code, plant]) => ({ what, code, plant })),
};

/** The timestamp, shifted by whole seconds. */
function moved(seconds: number): string {
  return String(Number(TIMESTAMP) + seconds);
}

function same(secret: string): string {
  return secret;
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

function ascii(text: string): string {
  return text.replace(
    /[\u007f-\uffff]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function goEscapes(text: string): string {
  return text.replace(/[<>&]/g, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`);
}

/** The alarm with spaces after commas and colons, as Python and PostgreSQL write it. */
function spaced(record: object): string {
  const members = Object.entries(record).map(
    ([key, value]) => `${JSON.stringify(key)}: ${JSON.stringify(value)}`,
  );
  return `{"alarm": {${members.join(", ")}}}`;
}

function sorted(record: object, compare: (one: string, other: string) => number): object {
  return Object.fromEntries(Object.entries(record).sort(([one], [other]) => compare(one, other)));
}

function byText(one: string, other: string): number {
  return one < other ? -1 : 1;
}

function byLength(one: string, other: string): number {
  return one.length - other.length || byText(one, other);
}
