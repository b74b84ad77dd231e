import { stat } from "node:fs/promises";
import { reconcileDeliveries } from "../../src/management/reconcile-deliveries.js";
import {
  reconcileMetrics,
  type MissingDelivery,
  type ReconcileReport,
} from "../../src/management/reconcile-report.js";
import { recoverDelivery } from "../../src/management/recover-delivery.js";
import { parseGatewayTime } from "../../src/records/gateway-time.js";
import { createCommand } from "../command.js";
import { EXIT, UsageError } from "../exit.js";
import { readInput } from "../options/read-input.js";
import { JSON_OPTION } from "../options/shared-options.js";
import { readTargetUrl } from "../options/target-url.js";
import type { CommandIo } from "../terminal/command-io.js";
import { counted, joined, printableLine, writeJson } from "../terminal/printable.js";
import { renderTable, type Cell } from "../terminal/table.js";
import { ATTEMPT_OPTIONS, attemptReaderOf, noFields } from "./attempt-fields.js";
import { utc, writeResult, writeWarning } from "./report-lines.js";
import { connectToGateway, GATEWAY_OPTIONS } from "./gateway-connection.js";
import {
  checkRepeats,
  checkRetention,
  drain,
  isCompletedBy,
  isReceiver,
  loadUserModule,
  reasonOf,
} from "./user-module.js";
import { flag, text } from "../options/option-specs.js";

/** Finds deliveries that were lost, and recovers them. */
export const reconcile = createCommand({
  name: "webhooks reconcile",
  summary: "finds deliveries that were lost, and recovers them",
  usage: "<url>",
  about: [
    "Lists the deliveries to the URL whose attempts were never answered 2xx, and those that you know as handled are left out: --completed, or the module's isCompleted. With one of these it also lists what was answered 2xx and is not among them: a proxy may have answered. The gateway does not document the fields of an attempt: --fields says where they are.",
    "With --module and --recover, your receiver handles what the gateway gave up and stores the body of: each id once, as any delivery. The module exports `receiver`, and may export `readAttempt` and `isCompleted`; it must not start a server.",
    "Exits 0 when nothing is lost and everything could be read, 1 if not, 4 if the gateway could not be asked. A delivery that the gateway may still send does not count as lost. A history that begins after --since, and after its webhook was made, cannot show what was lost before: that is 1 too.",
  ],
  options: {
    since: text(
      "<time>",
      "How far back: 90m, 24h, 5d, or a date such as 2026-10-09T00:00:00Z. At least as long as an outage, and the 36 hours that the gateway retries. Required.",
    ),
    ...ATTEMPT_OPTIONS,
    completed: text(
      "<file>",
      "Ids that were handled, one a line: a query of your store. - for standard input.",
    ),
    recover: flag(
      "Handles the lost deliveries. Needs --module with your receiver, and a --since no further back than retentionMs of the receiver less 36 hours.",
    ),
    "handle-again": flag(
      "Recovers also with a memory store, or with a --completed without an id: what was handled before is handled again.",
    ),
    prometheus: flag(
      "Writes metrics for a textfile collector, and nothing else to standard output.",
    ),
    ...GATEWAY_OPTIONS,
    json: JSON_OPTION,
  },
  examples: {
    "What was lost in five days": `webhooks reconcile https://partner.example/webhooks --since 5d \\
    --fields deliveryId=delivery_id,status=status,at=created_at`,
  },
  async run(io, values, [given = ""]) {
    const url = readTargetUrl(given);
    const since = sinceOf(values.since);
    const { fields, completed, module: file, recover, json, prometheus } = values;
    if (json && prometheus) throw new UsageError("--json and --prometheus exclude each other");
    const user = await loadUserModule(file);
    const { receiver } = user;
    if (recover && !isReceiver(receiver)) {
      throw new UsageError("--recover needs --module with a module that exports receiver");
    }
    if (recover) checkRetention(receiver, since);
    const readAttempt = attemptReaderOf(fields, user);
    if (readAttempt === undefined) throw noFields();
    const known = completed === undefined ? undefined : await idsIn(io, completed);
    if (recover && !values["handle-again"]) checkRepeats(receiver, known?.ids.size);
    const client = await connectToGateway(io, values, user.nextPage);
    let report: ReconcileReport;
    let isDrained = true;
    try {
      report = await reconcileDeliveries(client, {
        url: url.href,
        since,
        readAttempt,
        signal: io.signal,
        isCompleted:
          known === undefined && user.isCompleted === undefined
            ? undefined
            : async (id) => known?.ids.has(id) === true || (await isCompletedBy(user, id)),
        completedAt: known?.madeAt,
        receiver: isReceiver(receiver) ? receiver : undefined,
        recover:
          recover && receiver !== undefined
            ? (delivery) => recoverDelivery(receiver, delivery)
            : undefined,
      });
    } finally {
      // What a handler started may not be over yet. Cut off, it would run again in the next run, also after an error.
      if (recover) isDrained = await drain(io, receiver);
    }
    warnOfErrors(io, report);
    const gaps = gapsOf(report, since, known?.ids.size ?? 0);
    for (const gap of gaps) io.err.write(`${gap}\n`);
    const passed = hasPassed(report) && gaps.length === 0 && isDrained;
    if (json) writeJson(io.out, { ...shown(report), passed });
    else if (prometheus) io.out.write(reconcileMetrics(report));
    else describe(io, report, passed);
    return passed ? EXIT.passed : EXIT.failed;
  },
});

/** The ids in a file, and when they were written there: deliveries of later are not in it. */
async function idsIn(io: CommandIo, path: string) {
  const startedAt = new Date();
  const text = new TextDecoder().decode(await readInput(io, path));
  const madeAt = path === "-" ? startedAt : (await stat(path)).mtime;
  return { ids: new Set(text.split(/\s+/).filter((id) => id !== "")), madeAt };
}

function sinceOf(given: string | undefined): Date {
  const [, count, unit] = /^([0-9]{1,6})([mhd])$/.exec(given ?? "") ?? [];
  const units = { m: 60_000, h: 3_600_000, d: 86_400_000 };
  if (unit !== undefined) {
    return new Date(Date.now() - Number(count) * units[unit as keyof typeof units]);
  }
  let since: Date;
  try {
    since = parseGatewayTime(given ?? "");
  } catch {
    throw new UsageError("--since must be 90m, 24h, 7d or a date such as 2026-10-09T00:00:00Z");
  }
  if (since.getTime() > Date.now()) throw new UsageError("--since must not be in the future");
  return since;
}

function hasPassed({ missing, unreadable, withoutHistory }: ReconcileReport): boolean {
  const isLost = missing.some(({ isGivenUp }) => isGivenUp);
  return !isLost && unreadable === 0 && withoutHistory.length === 0;
}

/** What the histories cannot show, each in one line. */
function gapsOf({ attempts, histories }: ReconcileReport, since: Date, known: number) {
  const lines = histories.flatMap(({ webhookId, type, oldestAt, createdAt }) => {
    const isWhole = oldestAt === undefined || oldestAt <= since || Number(createdAt) > +since;
    if (isWhole) return [];
    const webhook = `webhook ${printableLine(webhookId)} (${printableLine(type)})`;
    return `The history of ${webhook} begins at ${utc(oldestAt)}, after --since: what was lost before is not known`;
  });
  const isEmpty = attempts === 0 && known > 0;
  return isEmpty ? [...lines, `No attempt was read, and --completed has ${known} ids`] : lines;
}

/** What `recover` threw is no bug of this program. Its message is not shown: it may hold a part of a body. */
function warnOfErrors({ err }: CommandIo, { missing }: ReconcileReport): void {
  const failed = missing.filter((one) => "error" in one);
  if (failed.length === 0) return;
  const reasons = [...new Set(failed.map(({ error }) => reasonOf(error)))].join(", ");
  const count = counted(failed.length, "time");
  err.write(`recover of --module failed ${count}: ${printableLine(reasons)}\n`);
}

function shown(report: ReconcileReport): object {
  const missing = report.missing.map((delivery) => ({ ...delivery, error: undefined }));
  return { ...report, missing, withoutHistory: idsOf(report) };
}

function idsOf({ withoutHistory }: ReconcileReport): readonly string[] {
  return withoutHistory.map(({ id }) => id);
}

function describe({ out }: CommandIo, report: ReconcileReport, passed: boolean): void {
  const { missing, recovered, completed, attempts, unreadable, unreadBodies, acknowledged } =
    report;
  const { histories } = report;
  const rows = [...missing, ...recovered];
  if (rows.length > 0) {
    const columns = [
      { title: "Delivery" },
      { title: "Type", isFlexible: true },
      { title: "Last (UTC)" },
      { title: "Result" },
    ];
    out.write(`${renderTable(columns, rows.map(cellsOf), out).join("\n")}\n\n`);
  }
  const unknown = missing.filter(({ isAcknowledged }) => isAcknowledged).length;
  const lost = missing.filter(({ isGivenUp }) => isGivenUp).length - unknown;
  const [oldest] = histories.flatMap(({ oldestAt }) => oldestAt ?? []).toSorted((a, b) => +a - +b);
  const parts = [
    `${lost} lost`,
    acknowledged && `acknowledged at the gateway, unknown to your store: ${unknown}`,
    `${missing.length - lost - unknown} may come again`,
    `${recovered.length} recovered`,
    `${completed} handled before`,
    `${counted(attempts, "attempt")} read${oldest === undefined ? "" : `, the oldest of ${utc(oldest)}`}`,
    unreadable > 0 && `${counted(unreadable, "attempt")} cannot be read: correct --fields`,
    unreadBodies > 0 && `${unreadBodies} without a readable body`,
    ...idsOf(report).map((id) => `webhook ${printableLine(id)} stores no history`),
  ];
  writeResult(out, passed && acknowledged === undefined ? "unseen" : passed, joined(parts));
  if (acknowledged === undefined) {
    writeWarning(
      out,
      "Deliveries that were answered 2xx are not checked: pass --completed. The status does not say by whom, and a 2xx of a proxy is a loss without a trace.",
    );
    return;
  }
  const { compared, unhandled, forgotten, later } = acknowledged;
  const left = { "without a handler": unhandled, "older than the store": forgotten, later };
  const texts = Object.entries(left).map(([why, count]) => `${count} ${why}`);
  out.write(`  ${counted(compared, "acknowledged id")} compared; left out: ${texts.join(", ")}\n`);
}

function cellsOf(delivery: MissingDelivery): readonly Cell[] {
  const { deliveryId, type, lastAt, lastStatus, isGivenUp, isAcknowledged, recovered } = delivery;
  const state = isAcknowledged ? "unknown" : isGivenUp ? "lost" : "retrying";
  const result = recovered ?? `${state} (${lastStatus ?? "–"})`;
  return [
    printableLine(deliveryId),
    printableLine(type),
    lastAt.toISOString().slice(5, 16),
    { text: result, format: recovered === "handled" ? "green" : isGivenUp ? "red" : "dim" },
  ];
}
