import type { Output } from "../terminal/command-io.js";
import type { ListenedDelivery } from "../../kit/listener/listened-delivery.js";
import type { DeliveryEntry } from "../../kit/listener/delivery-entry.js";
import { READINGS, readingOf } from "../send/exchange.js";
import { wrap } from "../terminal/wrap.js";
import { printableLine, quotedLines } from "../terminal/printable.js";

export const INDENT = " ".repeat(10);

/** Shows an entry: one line, and the reasons below it, and the body if it is given. */
export function describeEntry(
  { write, style, columns }: Output,
  entry: DeliveryEntry & Pick<ListenedDelivery, "body" | "bodyBase64">,
): void {
  const { at, outcome, status, bytes, durationMs, id, type } = entry;
  const { format } = READINGS[readingOf(status)];
  const head = [
    style("dim", new Date(at).toTimeString().slice(0, 8)),
    style(format, `${status} ${outcome.padEnd(18)}`),
    ...(type === undefined ? [] : [type]),
    ...(id === undefined ? [] : [id]),
    style("dim", `${bytes} bytes, ${durationMs} ms`),
  ];
  const width = Math.max((columns ?? Infinity) - INDENT.length, 40);
  const details = detailsOf(entry).flatMap((line) => wrap(line, width));
  const lines = [head.join("  "), ...details.map((line) => INDENT + line)];
  write(`${lines.join("\n")}\n`);
  const body = entry.body ?? entry.bodyBase64;
  if (body === undefined) return;
  const title = id === undefined ? "The body, from an unknown sender" : "The body";
  write(
    `${INDENT}${style("dim", entry.body === undefined ? `${title}, in base64:` : `${title}:`)}\n`,
  );
  write(`${quotedLines(body, INDENT, columns).join("\n")}\n`);
}

function detailsOf({ reasons, findings, forwarded }: DeliveryEntry): readonly string[] {
  return [
    ...reasons,
    ...findings.flatMap(({ code, message, fix }) => [`${code}: ${message}`, `Fix: ${fix}`]),
    ...(forwarded === undefined ? [] : [forwardedLine(forwarded)]),
  ].map((line) => printableLine(line, 1_000));
}

function forwardedLine({
  status,
  outcome,
  error = "",
  ms,
}: NonNullable<DeliveryEntry["forwarded"]>): string {
  if (status === undefined) return `The app did not answer within ${ms} ms: ${error}`;
  return `The app answered ${status}${outcome === undefined ? "" : ` ${outcome}`} in ${ms} ms.`;
}
