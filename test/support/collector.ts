import type { Logger, OutcomeReport } from "../../src/index.js";

/** One line of the log. */
export interface LogLine {
  readonly level: "warn" | "error";
  readonly message: string;
  readonly details: unknown;
}

/** Takes what a receiver says, for tests to look at. */
export interface Collector {
  /** To be spread into the options of a receiver. */
  readonly options: {
    readonly logger: Logger;
    readonly onOutcome: (report: OutcomeReport) => void;
  };
  readonly lines: LogLine[];
  readonly reports: OutcomeReport[];
}

/** Makes a collector with nothing in it. */
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

/** The lines that hold a text. */
export function linesWith(lines: readonly LogLine[], text: string): LogLine[] {
  return lines.filter(({ message }) => message.includes(text));
}
