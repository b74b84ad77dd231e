import { ConfigurationError } from "../common/errors.js";
import { consoleLines, createLog, loggerFault, type Log, type Logger } from "../answer/logger.js";

/** Writes one line. Never throws, whatever the logger does. */
export type WorkerLog = Log;

/** Makes the log of a worker. Throws `ConfigurationError` for what is no logger. */
export function createWorkerLog(logger: Logger | false = consoleLines): WorkerLog {
  const fault = logger === false ? undefined : loggerFault(logger);
  if (fault !== undefined) throw new ConfigurationError("invalid_option", fault);
  return createLog(logger);
}
