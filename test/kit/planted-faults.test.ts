import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { diagnoseSignature } from "../../kit/diagnosis/diagnose-signature.js";
import type { SignatureFinding } from "../../kit/diagnosis/finding.js";
import { sampleAlarm } from "../../kit/samples/sample-alarm.js";
import {
  ascii,
  captured,
  codesOf,
  EVENT,
  goEscapes,
  ID,
  macOf,
  NOW_MS,
  ONLINE_DATA,
  SECRET,
  TEST_SECRET,
  TIMESTAMP,
  type Capture,
  type Signed,
} from "./diagnosis-capture.js";

const TEXT = 'Ångström – <b>"canary" & co</b>, it\'s = at https://shop.example/å';
const RECORD = { ...sampleAlarm({ text: TEXT }, { seed: 7 }), risk_score: 12 };
const ALARM = JSON.stringify({ alarm: RECORD });
const BYTES = Buffer.from(ALARM);
const ISO_TIME = new Date(NOW_MS).toISOString();
const LENGTH = { "Content-Length": String(BYTES.length) };

/** Faults by the code of their first finding, then by what they are. */
type Table<T> = Readonly<Record<string, Readonly<Record<string, T>>>>;
type Change = NonNullable<Capture["change"]>;
/** What arrives in place of the signed body. */
type BodyRow = readonly [body: unknown, signed?: string | Uint8Array, change?: Change];

/** Faults of the secret: signed with the first, configured with the second. */
const SECRETS: Table<(secret: string) => readonly [signing: string | Uint8Array, given: string]> = {
  secret_whitespace: {
    "a newline after the configured secret": (s) => [s, `${s}\n`],
    "CRLF after the configured secret": (s) => [s, `${s}\r\n`],
    "blanks around the configured secret": (s) => [s, `  ${s} `],
    "a tab after the configured secret": (s) => [s, `${s}\t`],
    "a newline after the registered secret": (s) => [`${s}\n`, s],
    "CRLF after the registered secret": (s) => [`${s}\r\n`, s],
    "a blank after the registered secret": (s) => [`${s} `, s],
    "CRLF on one side and LF on the other": (s) => [`${s}\r\n`, `${s}\n`],
    "a zero-width space in the secret": (s) => [s, `${s.slice(0, 9)}\u200b${s.slice(9)}`],
  },
  secret_bom: {
    "a byte order mark": (s) => [s, `\uFEFF${s}`],
    "a byte order mark read as Latin-1": (s) => [s, `ï»¿${s}`],
    "a byte order mark and a newline": (s) => [s, `\uFEFF${s}\r\n`],
  },
  secret_quoted: {
    "double quotes": (s) => [s, `"${s}"`],
    "single quotes": (s) => [s, `'${s}'`],
    "double quotes and a newline": (s) => [s, `"${s}"\n`],
    "quotes in the registered secret": (s) => [`"${s}"`, s],
  },
  secret_assignment: {
    "its variable's name": (s) => [s, `GATEWAY_WEBHOOK_SECRET=${s}`],
    "its export line": (s) => [s, `export SECRET="${s}"\n`],
    "its line of YAML": (s) => [s, `webhook_secret: ${s}`],
    "its variable's name with dots": (s) => [s, `gateway.webhook.secret=${s}`],
    "its line of JSON": (s) => [s, `"webhook-secret": "${s}",`],
    "its line of PowerShell": (s) => [s, `$env:WEBHOOK_SECRET = "${s}"`],
    "its line of a shell of Windows": (s) => [s, `set WEBHOOK_SECRET=${s}`],
    "its line of a Dockerfile": (s) => [s, `ENV WEBHOOK_SECRET=${s}`],
    "its line with a comment": (s) => [s, `WEBHOOK_SECRET=${s} # gateway`],
    "its line of JavaScript": (s) => [s, `const secret = "${s}";`],
    "a semicolon after it": (s) => [s, `${s};`],
    "the JSON of Secrets Manager": (s) => [
      s,
      JSON.stringify({ name: "gateway", webhook_secret: s }),
    ],
  },
  secret_joined: {
    "two in one text": (s) => [s, `whsec_old,${s}`],
    "two on two lines": (s) => [s, `${s}\nwhsec_old\n`],
    "a JSON list in one text": (s) => [s, `["whsec_old", "${s}"]`],
    "two joined by a comma on a line of an .env file": (s) => [s, `SECRET="${s},whsec_old"`],
    "two lines of an .env file": (s) => [s, `OLD=whsec_old\nNEW='${s}'\n`],
  },
  secret_escaped: { "an escaped newline": (s) => [s, `${s}\\n`] },
  secret_encoded: {
    base64: (s) => [s, base64(s)],
    "base64 of it with a newline": (s) => [s, base64(`${s}\n`)],
    "base64 by the sender": (s) => [base64(s), s],
    hexadecimal: (s) => [s, Buffer.from(s).toString("hex")],
    "the key of Standard Webhooks": (s) => [Buffer.from(s.slice(6), "base64"), s],
    "no whsec_ by the sender": (s) => [s.slice(6), s],
    "no whsec_ in the configured secret": (s) => [s, s.slice(6)],
  },
};

/** Secrets that are none, of the sender or of the receiver. */
const UNSET_SECRETS: typeof SECRETS = {
  secret_unset: {
    "an empty secret of the sender": (s) => ["", s],
    "the text undefined as the sender's secret": (s) => ["undefined", s],
    "the text null as the sender's secret": (s) => ["null", s],
    "the text None as the sender's secret": (s) => ["None", s],
    "the text undefined as the configured secret": (s) => [s, "undefined"],
    "an empty configured secret": (s) => [s, ""],
  },
};

/** Values of headers that replace the signed ones. */
const HEADERS: Table<Change | ((hex: string) => Change)> = {
  header_renamed: {
    "an id with underscores in its name": { "X-Webhook-Id": undefined, x_webhook_id: ID },
    "an id without X-": { "X-Webhook-Id": undefined, "Webhook-Id": ID },
    "an id under CGI's name": { "X-Webhook-Id": undefined, HTTP_X_WEBHOOK_ID: ID },
  },
  header_repeated: {
    "an id that is sent twice": { "X-Webhook-Id": [ID, ID] },
    "an id joined with another": { "X-Webhook-Id": `other, ${ID}` },
    "an id in two letter cases": { "x-webhook-id": "other" },
    "two timestamps in one header": { "X-Webhook-Timestamp": `${TIMESTAMP}, 1760000099` },
    "nine signatures in one header": signature(
      (hex) => `${`v1=${"0".repeat(64)}, `.repeat(8)}v1=${hex}`,
    ),
  },
  header_whitespace: {
    "a blank before the id": { "X-Webhook-Id": ` ${ID}` },
    "a tab after the timestamp": { "X-Webhook-Timestamp": `${TIMESTAMP}\t` },
    "CR after the signature": signature((hex) => `v1=${hex}\r`),
    "a signature in quotes": signature((hex) => `"v1=${hex}"`),
    "a signature in quotes after v1=": signature((hex) => `v1="${hex}"`),
    "a signature that was folded": signature((hex) => `v1=${hex.slice(0, 27)} ${hex.slice(27)}`),
    "an id that was folded": { "X-Webhook-Id": `${ID.slice(0, 9)} ${ID.slice(9)}` },
  },
  signature_prefix: {
    "a signature without v1=": signature((hex) => hex),
    "a signature with sha256=": signature((hex) => `sha256=${hex}`),
    "a signature in fields with a semicolon": signature((hex) => `t=${TIMESTAMP};v1=${hex}`),
  },
  signature_length: {
    "a signature cut at 50 characters": signature((hex) => `v1=${hex}`.slice(0, 50)),
    "a doubled signature": signature((hex) => `v1=${hex}${hex}`),
  },
  timestamp_unit: {
    "a timestamp in milliseconds": { "X-Webhook-Timestamp": `${TIMESTAMP}000` },
  },
  timestamp_format: {
    "a timestamp as a date": { "X-Webhook-Timestamp": ISO_TIME },
    "a timestamp as a date without milliseconds": {
      "X-Webhook-Timestamp": ISO_TIME.replace(".000", ""),
    },
    "a timestamp with decimals": { "X-Webhook-Timestamp": `${TIMESTAMP}.0` },
  },
};

/** Headers from which the signed value cannot be found. */
const LOST_HEADERS: typeof HEADERS = {
  type_mismatch: { "the other type": { "X-Webhook-Type": "delete_my_data_event" } },
};

/** Signed at a time that a receiver refuses. */
const TIMES: Table<Signed> = {
  timestamp_unit: { "signed in milliseconds": { timestamp: `${TIMESTAMP}000` } },
  timestamp_behind: { "signed half an hour ago": { timestamp: moved(-1_800) } },
  timestamp_ahead: { "signed in two hours": { timestamp: moved(7_200) } },
};

const LINES = '{\n  "alarm": {\n    "id": 1\n  }\n}';
const LINED = base64(ALARM).replace(/(.{76})/g, "$1\n");
const LATIN = ALARM.replace("–", "-");
/** Faults of the body that a search undoes. */
const BODIES: Table<BodyRow> = {
  body_trailing_newline: {
    "LF added": [`${ALARM}\n`],
    "CRLF added": [`${ALARM}\r\n`],
    "LF lost": [ALARM, `${ALARM}\n`],
  },
  body_whitespace: { "blanks added": [` ${ALARM} \t`] },
  body_bom: {
    "a byte order mark added": [`\uFEFF${ALARM}`],
    "a byte order mark and LF added": [`\uFEFF${ALARM}\n`],
  },
  body_line_ends: {
    "LF changed to CRLF": [LINES.replaceAll("\n", "\r\n"), LINES],
    "CRLF changed to LF": [LINES, LINES.replaceAll("\n", "\r\n")],
    "wrapped into lines by a mailer": [ALARM.replace(/(.{76})/g, "$1\r\n")],
  },
  body_extra_bytes: {
    "followed by the next request": [`${ALARM}POST / HTTP/1.1`, ALARM, LENGTH],
  },
  body_charset: {
    "encoded to UTF-8 twice": [Buffer.from(BYTES.toString("latin1"), "utf8")],
    "encoded twice through Windows-1252": [
      Buffer.from(new TextDecoder("windows-1252").decode(BYTES)),
    ],
    "captured in Latin-1": [Buffer.from(LATIN, "latin1"), LATIN],
    "signed in Latin-1": [LATIN, Buffer.from(LATIN, "latin1")],
  },
  body_form_encoded: {
    "percent-encoded": [encodeURIComponent(ALARM)],
    "the key of a form": [new URLSearchParams([[ALARM, ""]]).toString()],
    "a field of a form": [new URLSearchParams({ payload: ALARM }).toString()],
    "an object of a form parser": [JSON.stringify({ [ALARM]: "" })],
  },
  body_base64: {
    base64: [base64(ALARM)],
    "base64 in lines": [LINED],
    "base64 in lines, the last one ended": [`${LINED}\n`],
    "base64 in a JSON string": [JSON.stringify(base64(ALARM))],
  },
  body_quoted: {
    "a JSON string": [JSON.stringify(ALARM)],
    "the escapes of a log": [JSON.stringify(ALARM).slice(1, -1)],
    "the quotes of a shell": [`'${ALARM}'`],
    "bytes as Python prints them": ['b\'{"alarm":"\\xc3\\xa5\\\\n"}\'', '{"alarm":"å\\n"}'],
    "a quote as Python escapes it": ['b\'{"alarm":"it\\\'s"}\'', '{"alarm":"it\'s"}'],
  },
  body_html_escaped: {
    "HTML entities": [
      ALARM.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;"),
    ],
    "HTML entities in addition to a signed one": [
      "{&quot;alarm&quot;:&quot;a&nbsp;&lt;b&gt;&quot;}",
      '{"alarm":"a&nbsp;<b>"}',
    ],
  },
  body_enveloped: {
    "an event of a function": [
      JSON.stringify({ version: "2.0", body: ALARM, isBase64Encoded: false }),
    ],
    "an event of a function in base64": [
      JSON.stringify({ body: base64(ALARM), isBase64Encoded: true }),
    ],
    "an event of a function in base64 that does not say so": [
      JSON.stringify({ body: base64(ALARM) }),
    ],
  },
  body_compressed: {
    gzip: [gzipSync(BYTES)],
    deflate: [deflateSync(BYTES)],
    brotli: [brotliCompressSync(BYTES), ALARM, { "Content-Encoding": "br" }],
  },
};

/** Bodies that show that the signed bytes are lost. */
const LOST_BODIES: typeof BODIES = {
  body_empty: {
    "nothing left": [""],
    "no body given": [undefined],
    "what Express 4 leaves": ["{}"],
  },
  body_object_text: { "an object as text": ["[object Object]"] },
  body_truncated: { "cut short": [BYTES.subarray(0, 100), ALARM, LENGTH] },
  body_extra_bytes: { grown: [`x${ALARM}`, ALARM, LENGTH] },
  body_replacement_characters: {
    "invalid UTF-8 replaced": [ALARM.replace("Å", "\uFFFD"), Buffer.from(LATIN, "latin1")],
  },
  body_compressed: {
    "gzip cut short": [gzipSync(BYTES).subarray(0, 60)],
    decompressed: [ALARM, gzipSync(BYTES), { "Content-Encoding": "gzip" }],
  },
};

/** Where a body is cut. Without Content-Length only the JSON shows it. */
const CUTS: typeof BODIES = {
  body_truncated: {
    "in a text": [ALARM.slice(0, ALARM.indexOf("canary"))],
    "with three dots by a log": [`${ALARM.slice(0, 200)}...`],
    "with a count by Node's inspector": [`${ALARM.slice(0, 120)}... 512 more characters`],
    "with a mark by a log service": [`${ALARM.slice(0, 160)}[truncated]`],
  },
};

const INDENTED = JSON.stringify({ alarm: RECORD }, null, 2);
const TABBED = JSON.stringify({ alarm: RECORD }, null, "\t");
const PHP = ascii(ALARM).replaceAll("/", "\\/");
const PYTHON = ascii(spaced(RECORD));
const SORTED = JSON.stringify({ alarm: sorted(RECORD, byText) });
/** The same JSON as another program writes it. */
const SPELLINGS: typeof BODIES = {
  body_reserialised: {
    "indented by 2": [INDENTED],
    "signed with two blanks and written without": [ALARM, INDENTED],
    "indented by tabs": [TABBED],
    "signed with tabs and written without": [ALARM, TABBED],
    "with escaped letters": [ascii(ALARM)],
    "signed with escaped letters and written without": [ALARM, ascii(ALARM)],
  },
  body_key_order: {
    "sorted by a map of Go": [goEscapes(SORTED)],
    "sorted by Python's sort_keys": [ascii(spaced(sorted(RECORD, byText)))],
    "sorted by PostgreSQL's jsonb": [spaced(sorted(RECORD, byLength))],
    "sorted and indented": [`${JSON.stringify(JSON.parse(SORTED), null, 2)}\n`],
    "signed by PHP and sorted by a map of Go": [goEscapes(SORTED), PHP],
    "signed by Python and sorted by jsonb": [spaced(sorted(RECORD, byLength)), PYTHON],
  },
  body_parsed: { "an object such as req.body": [JSON.parse(ALARM) as unknown] },
};

/** Authentic bodies that no handler takes. */
const RECORDS: Table<readonly [body: string, type?: string]> = {
  body_unrecognized: {
    "neither alarm nor event": ['{"foo":1}'],
    "an empty object": ["{}"],
    "no JSON": ["hello"],
    "a number": ["7"],
    "alarm and event": [`{"alarm":${JSON.stringify(RECORD)},"event":{}}`],
    "a list of alarms": [JSON.stringify({ alarm: [RECORD] })],
    "an alarm without its account": [
      JSON.stringify({ alarm: { ...RECORD, account_id: undefined } }),
    ],
    "an event without its fields": ['{"event":{"type":"DATA_DELETED"}}', "delete_my_data_event"],
  },
  type_mismatch: { "an event under the type of alarms": [EVENT] },
};

const OTHER_TYPE = { "X-Webhook-Type": "delete_my_data_event" };
/** Faults at once; the code is that of the first finding. What is signed is the alarm, unless it says otherwise. */
const PAIRS: Table<(secret: string) => Capture & { readonly signed?: Signed }> = {
  secret_whitespace: {
    "a newline after the secret and after the body": (s) => ({
      secret: `${s}\n`,
      body: `${ALARM}\n`,
    }),
    "a newline after the secret of its type": (s) => ({
      secret: { new_alarm: ["whsec_old", `${s}\n`], delete_my_data_event: "whsec_of_events" },
    }),
  },
  secret_quoted: {
    "quotes around the secret and an indented body": (s) => ({ secret: `"${s}"`, body: INDENTED }),
  },
  secret_encoded: {
    "a secret in base64 and a body in base64": (s) => ({ secret: base64(s), body: base64(ALARM) }),
  },
  timestamp_behind: {
    "a stale delivery whose record is unknown": () => ({
      signed: { body: '{"foo":1}', timestamp: moved(-3_000) },
      body: '{"foo":1}',
    }),
  },
  header_renamed: {
    "a renamed header and a newline after the body": () => ({
      body: `${ALARM}\n`,
      change: { "X-Webhook-Id": undefined, "Webhook-Id": ID },
    }),
  },
  body_key_order: {
    "an event sorted by a map of Go": () => ({
      signed: { body: EVENT },
      body: JSON.stringify({ event: sorted(ONLINE_DATA, byText) }),
      change: OTHER_TYPE,
    }),
  },
  other_secret: {
    "the secret of the other type": (s) => ({
      secret: { new_alarm: "whsec_of_alarms", delete_my_data_event: s },
    }),
  },
  type_mismatch: {
    "the other type, with secrets by type": (s) => ({
      secret: { new_alarm: s, delete_my_data_event: "whsec_of_events" },
      change: OTHER_TYPE,
    }),
  },
};

/**
 * The faults of a table, each with the code that its first finding must have, and with the delivery that it makes of an
 * alarm signed with a secret.
 */
function faultsOf<Group extends string, T>(
  group: Group,
  table: Table<T>,
  plant: (row: T, secret: string) => readonly [signed: Signed, capture: Capture],
) {
  return Object.entries(table).flatMap(([code, rows]) =>
    Object.entries(rows).map(([what, row]) => ({
      group,
      what,
      code,
      plant: (secret: string) => {
        const [signed, capture] = plant(row, secret);
        return captured({ secret, body: ALARM, ...signed }, { secret, ...capture });
      },
    })),
  );
}

const plantSecret = (row: (typeof SECRETS)[string][string], secret: string) => {
  const [signing, given] = row(secret);
  return [{ secret: signing }, { secret: given }] as const;
};
const plantHeader = (row: (typeof HEADERS)[string][string], secret: string) => {
  const hex = macOf({ secret, body: ALARM }).toString("hex");
  return [{}, { change: typeof row === "function" ? row(hex) : row }] as const;
};
const plantSigned = (row: Signed) => [row, { body: ALARM }] as const;
const plantBody = ([body, signed = ALARM, change = {}]: BodyRow) =>
  [{ body: signed }, { body, change }] as const;

const FAULTS = [
  ...faultsOf("secrets", SECRETS, plantSecret),
  ...faultsOf("unsetSecrets", UNSET_SECRETS, plantSecret),
  ...faultsOf("headers", HEADERS, plantHeader),
  ...faultsOf("lostHeaders", LOST_HEADERS, plantHeader),
  ...faultsOf("times", TIMES, plantSigned),
  ...faultsOf("bodies", BODIES, plantBody),
  ...faultsOf("lostBodies", LOST_BODIES, plantBody),
  ...faultsOf("cuts", CUTS, plantBody),
  ...faultsOf("spellings", SPELLINGS, plantBody),
  ...faultsOf("records", RECORDS, ([body, type = "new_alarm"]) => [
    { body },
    { change: { "X-Webhook-Type": type } },
  ]),
  ...faultsOf("pairs", PAIRS, (row, secret) => {
    const { signed = {}, ...capture } = row(secret);
    return [signed, capture] as const;
  }),
];
type Group = (typeof FAULTS)[number]["group"];

/** Pieces of the deliveries. A finding that quotes a part of its input has one of these. */
const CANARIES = [
  ...[SECRET, TEST_SECRET].flatMap((secret) => [secret.slice(0, 10), secret.slice(8, 16)]),
  ...["whsec_o", "whsec_n", "canary", "Ångström", "\\u00c5ngstr", "shop.example"],
  ...[String(/"account_id":\d+/.exec(ALARM)), ID.slice(0, 8), "17600000"],
  ...[macOf({ body: ALARM }), Buffer.from(SECRET)].flatMap((bytes) => [
    bytes.toString("hex").slice(0, 8),
    bytes.toString("base64").slice(0, 8),
  ]),
];

/** What the findings of a group are, where the secret is not that of the fixtures. */
const FINDINGS: Partial<Record<Group, (findings: readonly SignatureFinding[]) => void>> = {
  // One cause is one finding, although a receiver refuses such a secret as well.
  secrets: (findings) => expect(findings).toMatchObject([{ certainty: "proven", secretIndex: 0 }]),
  bodies: (findings) => expect(findings).toMatchObject([{ certainty: "proven" }]),
  headers: ([first, ...others]) => {
    expect(first).toMatchObject({ certainty: "proven" });
    expect(others.filter(({ certainty }) => certainty === "possible")).toEqual([]);
  },
  lostHeaders: ([first]) => expect(first).toMatchObject({ certainty: "seen" }),
  lostBodies: ([first]) => expect(first).toMatchObject({ certainty: "seen" }),
};

const TRIED = [
  ["the public test secret", TEST_SECRET],
  ["a secret of one's own", SECRET],
] as const;

test("there are at least a hundred planted faults, each with a name of its own", () => {
  const names = FAULTS.map(({ group, what }) => `${group}: ${what}`);
  expect(new Set(names).size).toBe(names.length);
  expect(names.length).toBeGreaterThanOrEqual(100);
});

describe.each(TRIED)("planted faults with %s", (name, secret) => {
  test.each(FAULTS)(
    `diagnoseSignature names $what as $code, and quotes nothing, with ${name} ($group)`,
    async ({ group, code, plant }) => {
      const diagnosis = await diagnoseSignature(plant(secret));
      const { result, findings, secretIndex } = diagnosis;
      expect([result, findings[0]?.code]).toEqual(["bad", code]);
      const shown = JSON.stringify(diagnosis);
      expect(CANARIES.filter((canary) => shown.includes(canary))).toEqual([]);
      if (secret === TEST_SECRET) return;
      FINDINGS[group]?.(findings);
      if (group === "secrets" || group === "bodies") expect(secretIndex).toBe(0);
    },
  );

  test.each([
    ["an alarm", ALARM, "new_alarm"],
    ["an event", EVENT, "delete_my_data_event"],
  ])(`diagnoseSignature accepts %s without a fault with ${name}`, async (_, body, type) => {
    const good = captured({ secret, body }, { secret, change: { "X-Webhook-Type": type } });
    expect(await diagnoseSignature(good)).toMatchObject({ result: "good", findings: [] });
  });

  test.each([
    ["another number", ALARM.replace(/"account_id":\d+/, '"account_id":99')],
    ["a rounded number", ALARM.replace('"risk_score":12', '"risk_score":12.0')],
    ["a lost field", ALARM.replace(/"account_id":\d+,/, "")],
    ["a lost beginning", ALARM.slice(20)],
    ["another delivery", EVENT],
  ])(`diagnoseSignature names no cause for %s with ${name}`, async (_, body) => {
    expect((await codesOf({ secret, body: ALARM }, { secret, body }))[0]).toBe("unexplained");
  });

  test(`diagnoseSignature takes an unknown secret for no other cause with ${name}`, async () => {
    expect(await codesOf({ secret: "whsec_unknown" }, { secret })).toEqual(["unexplained"]);
  });
});

test("diagnoseSignature names the public test secret where another secret is in use", async () => {
  expect(await codesOf({ secret: TEST_SECRET })).toEqual(["test_secret"]);
});

/** The timestamp, shifted by whole seconds. */
function moved(seconds: number): string {
  return String(Number(TIMESTAMP) + seconds);
}

function signature(write: (hex: string) => string): (hex: string) => Change {
  return (hex) => ({ "X-Webhook-Signature": write(hex) });
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
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
