import type { AttemptReader, DeliveryAttempt } from "../../src/management/attempt-reader.js";
import type { ManagementClient } from "../../src/management/management-client.js";
import { ManagementError } from "../../src/management/management-error.js";
import { isSameUrl, type Webhook } from "../../src/management/webhook.js";
import { createCommand } from "../command.js";
import { EXIT } from "../exit.js";
import { JSON_OPTION } from "../options/shared-options.js";
import { readTargetUrl } from "../options/target-url.js";
import type { CommandIo } from "../terminal/command-io.js";
import { counted, printableLine, writeJson } from "../terminal/printable.js";
import { renderTable, type Cell } from "../terminal/table.js";
import { ATTEMPT_OPTIONS, attemptReaderOf, noFields } from "./attempt-fields.js";
import { utc, writeResult } from "./report-lines.js";
import { connectToGateway, GATEWAY_OPTIONS } from "./gateway-connection.js";
import { loadUserModule } from "./user-module.js";
import { flag, whole } from "../options/option-specs.js";
import { DistinctPlaceholders } from "../../kit/recorder/distinct-placeholders.js";
import { jsonOf } from "../../kit/json-parts.js";
import { redactLeaf } from "../../kit/recorder/redact-body.js";

interface Row extends Omit<DeliveryAttempt, "body"> {
  readonly webhookId: string;
  readonly type: string;
}

/** Shows the stored attempts. */
export const history = createCommand({
  name: "webhooks history",
  summary: "shows the attempts that the gateway stores",
  usage: "<url>",
  about: [
    "Shows the latest attempts of the webhooks at the URL, never their bodies. The gateway does not document the fields of an attempt: --fields says where they are.",
    "--shape shows the keys and types of a real record, its values replaced as in a recorded fixture. Paste it into an issue of this project: that is how undocumented fields become documented. Read it before you do.",
    "Exits 0 when there are attempts and all can be read, 1 if not, 4 if the gateway could not be asked.",
  ],
  options: {
    ...ATTEMPT_OPTIONS,
    shape: flag("Shows the shape of a record, and no values."),
    limit: whole("<n>", { min: 1, max: 100_000, fallback: 20 }, "How many attempts to show."),
    ...GATEWAY_OPTIONS,
    json: JSON_OPTION,
  },
  examples: {
    "What a record looks like": "webhooks history https://partner.example/webhooks --shape",
    "The latest 20 attempts": `webhooks history https://partner.example/webhooks \\
    --fields deliveryId=delivery_id,status=status,at=created_at`,
  },
  async run(io, values, [given = ""]) {
    const url = readTargetUrl(given);
    const { shape, fields, limit, json } = values;
    const user = await loadUserModule(values.module);
    const readAttempt = attemptReaderOf(fields, user);
    if (readAttempt === undefined && !shape) throw noFields();
    const client = await connectToGateway(io, values, user.nextPage);
    const { signal } = io;
    const listed = await client.webhooks.list({ signal });
    const webhooks = listed.filter((one) => isSameUrl(one.url, url.href));
    if (webhooks.length === 0) {
      throw new ManagementError("not_found", "no webhook is registered for the URL");
    }
    if (shape || readAttempt === undefined) return showShape(io, client, webhooks, json);
    return showAttempts(io, client, webhooks, readAttempt, limit, json);
  },
});

async function showShape(
  { out, signal }: CommandIo,
  client: ManagementClient,
  webhooks: readonly Webhook[],
  json: boolean,
): Promise<number> {
  for (const { id } of webhooks) {
    const record = (await client.attempts.list(id, { signal })).at(-1);
    if (record === undefined) continue;
    const { lines, dropped } = shapeOf(record);
    if (json) writeJson(out, { shape: lines, dropped });
    else {
      const columns = [
        { title: "Path" },
        { title: "Type" },
        { title: "Placeholder", isFlexible: true },
      ];
      out.write(`${renderTable(columns, lines.map(cellsOfShape), out).join("\n")}\n`);
      if (dropped > 0) out.write(`\n${dropped} keys are left out: they may be data.\n`);
    }
    return EXIT.passed;
  }
  if (json) writeJson(out, { shape: [], dropped: 0 });
  else writeResult(out, false, "No attempt is stored.");
  return EXIT.failed;
}

function cellsOfShape({ path, type, placeholder }: ShapeLine): readonly Cell[] {
  const shown = placeholder === undefined ? "" : JSON.stringify(placeholder);
  return [printableLine(path), type, printableLine(shown, 60)];
}

async function showAttempts(
  { out, signal }: CommandIo,
  client: ManagementClient,
  webhooks: readonly Webhook[],
  readAttempt: AttemptReader,
  limit: number,
  json: boolean,
): Promise<number> {
  const rows: Row[] = [];
  let unreadable = 0;
  for (const { id: webhookId, type } of webhooks) {
    for (const record of await client.attempts.list(webhookId, { signal })) {
      const attempt = readAttempt(record);
      if (attempt === undefined) unreadable += 1;
      else {
        const { deliveryId, at, status, attemptId } = attempt;
        rows.push({ deliveryId, at, status, attemptId, webhookId, type });
      }
    }
  }
  const latest = rows.toSorted((one, other) => one.at.getTime() - other.at.getTime()).slice(-limit);
  const passed = rows.length > 0 && unreadable === 0;
  if (json) writeJson(out, { attempts: latest, unreadable, passed });
  else {
    const columns = [
      { title: "At" },
      { title: "Webhook", isFlexible: true },
      { title: "Delivery" },
      { title: "Status", align: "right" as const },
    ];
    out.write(`${renderTable(columns, latest.map(cellsOf), out).join("\n")}\n\n`);
    const more = unreadable === 0 ? "" : `, ${unreadable} more cannot be read: correct --fields`;
    writeResult(out, passed, `${latest.length} of ${counted(rows.length, "attempt")}${more}`);
  }
  return passed ? EXIT.passed : EXIT.failed;
}

function cellsOf({ at, webhookId, type, deliveryId, status }: Row): readonly Cell[] {
  const isGood = status !== undefined && status >= 200 && status <= 299;
  return [
    utc(at),
    printableLine(`${webhookId} ${type}`),
    deliveryId,
    { text: status === undefined ? "–" : String(status), format: isGood ? "green" : "red" },
  ];
}

/** One value of a record: its path, its type, and a placeholder in its place. */
interface ShapeLine {
  readonly path: string;
  readonly type: string;
  /** Of the same form as the value. Undefined for a list or an object. */
  readonly placeholder?: unknown;
}

const MAX_DEPTH = 8;
/** A name of a field. Any other key may be data, such as an address or a number, and is left out with its value. */
const NAME = /^[A-Za-z_][A-Za-z_-]{0,59}[0-9]{0,3}$/;

/**
 * The keys and types of a record, with each value redacted as in a recorded fixture: a text keeps its form. No value
 * stays.
 */
export function shapeOf(record: unknown): {
  readonly lines: readonly ShapeLine[];
  readonly dropped: number;
} {
  const made = new DistinctPlaceholders();
  let dropped = 0;
  const linesOf = (value: unknown, path: readonly string[]): readonly ShapeLine[] => {
    const shown = path.join(".");
    const stored = typeof value === "string" ? jsonOf(value) : undefined;
    // Headers may be stored so. A body stays a text: no path leads into it.
    const isBody = ["alarm", "event"].some((name) => Object.hasOwn(Object(stored) as object, name));
    if (typeof stored === "object" && stored !== null && !isBody) {
      const [self, ...lines] = linesOf(stored, path);
      return self === undefined ? [] : [{ ...self, type: `${self.type} as JSON text` }, ...lines];
    }
    if (typeof value !== "object" || value === null) {
      const placeholder = JSON.parse(redactLeaf(JSON.stringify(value), [], made)) as unknown;
      return [{ path: shown, type: value === null ? "null" : typeof value, placeholder }];
    }
    if (Array.isArray(value)) {
      const [first] = value as unknown[];
      const self = { path: shown, type: `list of ${value.length}` };
      return first === undefined ? [self] : [self, ...linesOf(first, [...path, "0"])];
    }
    const members = Object.entries(value).filter(
      ([key]) => NAME.test(key) && path.length < MAX_DEPTH,
    );
    dropped += Object.keys(value).length - members.length;
    const lines = members.flatMap(([key, one]) => linesOf(one, [...path, key]));
    return path.length === 0 ? lines : [{ path: shown, type: "object" }, ...lines];
  };
  return { lines: linesOf(record ?? null, []), dropped };
}
