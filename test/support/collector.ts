import type { WebhookLogger, OutcomeReport } from "../../src/index.js";

/** One line of the log. */
export interface LogLine {
  readonly level: "warn" | "error";
  readonly message: string;
  readonly details: unknown;
}

/** Collects the log lines and reports of a receiver. */
export type Collector = ReturnType<typeof createCollector>;

/** Makes an empty collector. Its `options` are to spread into those of a receiver. */
export function createCollector() {
  const lines: LogLine[] = [];
  const reports: OutcomeReport[] = [];
  const logger: WebhookLogger = {
    warn: (message, details) => lines.push({ level: "warn", message, details }),
    error: (message, details) => lines.push({ level: "error", message, details }),
  };
  const onOutcome = (report: OutcomeReport): void => void reports.push(report);
  return { options: { logger, onOutcome }, lines, reports };
}

/** The lines that contain a text. */
export function linesWith(lines: readonly LogLine[], text: string): LogLine[] {
  return lines.filter(({ message }) => message.includes(text));
}
