import {
  ATTEMPT_PATH_NAMES,
  attemptReader,
  type AttemptPaths,
  type AttemptReader,
} from "../../src/management/attempt-reader.js";
import { UsageError } from "../exit.js";
import { text, type OptionSpecs } from "../options/option-specs.js";
import type { UserModule } from "./user-module.js";

/** The options that say how an attempt is read. */
export const ATTEMPT_OPTIONS = {
  fields: text(
    "<paths>",
    "Where the fields of an attempt are: deliveryId=…,status=…,at=… and, if stored, body=… and attemptId=…, each a dotted path, also into JSON text. See `webhooks history --shape`.",
  ),
  module: text(
    "<file>",
    "A JavaScript module that exports readAttempt in place of --fields, or nextPage in place of --next-page.",
  ),
} as const satisfies OptionSpecs;

/** The reader that the options describe. Undefined without one. Throws `UsageError`. */
export function attemptReaderOf(
  fields: string | undefined,
  { readAttempt }: UserModule,
): AttemptReader | undefined {
  if (fields !== undefined) return readerOf(fields);
  if (readAttempt === undefined || typeof readAttempt === "function") return readAttempt;
  throw new UsageError("readAttempt of --module must be a function");
}

function readerOf(given: string): AttemptReader {
  const names: readonly string[] = ATTEMPT_PATH_NAMES;
  const entries = given.split(",").map((part) => {
    const [name = "", path = "", ...rest] = part.trim().split("=");
    if (!names.includes(name) || path === "" || rest.length > 0) {
      throw new UsageError(`--fields takes name=path, with the names ${names.join(", ")}`);
    }
    return [name, path] as const;
  });
  return attemptReader(Object.fromEntries(entries) as unknown as AttemptPaths);
}

/** The error of a command that cannot do without the option. */
export function noFields(): UsageError {
  return new UsageError(
    "--fields is missing: the gateway does not document them. Run `webhooks history --shape`",
  );
}
