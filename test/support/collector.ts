import type { WebhookLogger, OutcomeReport } from "../../src/index.js";

/** One line of the log. */
export interface LogLine {
  readonly level: "warn" | "error";
  readonly message: string;
  readonly details: unknown;
}

/** Collects the log lines and reports of a receiver. */
export interface Collector {
  /** Options to spread into those of a receiver. */
  readonly options: {
    readonly logger: WebhookLogger;
    readonly onOutcome: (report: OutcomeReport) => void;
  };
  readonly lines: LogLine[];
  readonly reports: OutcomeReport[];
}

/** Makes an empty collector. */
export function createCollector(): Collector {
  const lines: LogLine[] = [];
  const reports: OutcomeReport[] = [];
  return {
    options: {
      logger: {
        warn: (message, details) => lines.push({ level: "warn", message, details }),
        error: (message, details) => lines.push({ level: "error", message, details }),
      },
      onOutcome: (report) => reports.push(report),
    },
    lines,
    reports,
  };
}

/** The lines that contain a text. */
export function linesWith(lines: readonly LogLine[], text: string): LogLine[] {
  return lines.filter(({ message }) => message.includes(text));
}
