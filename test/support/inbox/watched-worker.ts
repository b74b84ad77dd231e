import type { Handlers } from "../../../src/index.js";
import type { JobReport } from "../../../src/inbox/index.js";
import type { InboxQueue } from "./inbox-engine.js";

/** Starts a worker and collects its reports and log lines. */
export function watchWorker(queue: InboxQueue, newAlarm: Handlers["new_alarm"]) {
  const reports: JobReport[] = [];
  const lines: string[] = [];
  const take = (line: string) => lines.push(line);
  const stop = queue.consume({
    handlers: { new_alarm: newAlarm },
    onJob: (report) => reports.push(report),
    logger: { warn: take, error: take },
  });
  return { reports, lines, stop };
}
