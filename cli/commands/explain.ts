import { parseGatewayTime } from "../../src/records/gateway-time.js";
import { parseCapturedRequest } from "../../kit/diagnosis/parse-captured-request.js";
import { diagnoseSignature } from "../../kit/diagnosis/diagnose-signature.js";
import { describePage, isPageName, readPage } from "../documents.js";
import { createCommand } from "../command.js";
import type { CommandIo } from "../terminal/command-io.js";
import { EXIT, UsageError } from "../exit.js";
import {
  describePages,
  describeStatus,
  explainedNames,
  pagesOf,
  statusPageOf,
} from "../explain-page.js";
import { describeDiagnosis } from "../explain-report.js";
import { hintOf } from "../options/nearest-name.js";
import { JSON_OPTION, MAX_BODY_OPTION } from "../options/shared-options.js";
import { writeJson } from "../terminal/printable.js";
import { readInput } from "../options/read-input.js";
import { checkSecrets, hasSecrets, readSecrets, SECRET_OPTIONS } from "../options/secret-source.js";
import { list, text } from "../options/option-specs.js";

/** Says why a receiver refuses a captured delivery, or what an outcome or an error code means. */
export const explain = createCommand({
  name: "explain",
  summary: "says why a captured request is refused, or what an outcome or an error code means",
  usage: "[file | name]",
  positionals: { min: 0, max: 1 },
  about: [
    "Reads a captured request from a file or from standard input: raw HTTP, byte for byte, or any other text that holds the four headers with their values, and the body as text: JSON of a log or a service, HAR, YAML, a command, code, a printed object, a mail or a chat. With --body the file holds only the headers.",
    "Undoes the known mistakes with secrets, headers and bodies until a secret gives this signature. The output holds no secret, no signature and nothing of the body.",
    "For an authentic request it names the receiver's answer. Exits 0 when a receiver with this secret and a handler for the record answers 200, 1 otherwise.",
    "With the name of an outcome, an error code or an error class it prints what the documents say about it, and needs no secret. With an HTTP status it lists the outcomes that answer it. With a name that a message ends with, such as stores, it prints that section of the documents. A file of the same name is read as ./name.",
  ],
  options: {
    body: text("<file>", "The file with the exact body, if the capture holds only the head."),
    now: text(
      "<time>",
      "The time of the capture: Unix seconds, ISO 8601, or YYYY-MM-DD HH:MM:SS in UTC. Default: the time in the capture, otherwise the current time.",
    ),
    "other-secret": list(
      "<secret>",
      "A secret that may have been used by mistake: an old one, or one of another system.",
    ),
    "max-body-bytes": MAX_BODY_OPTION,
    ...SECRET_OPTIONS,
    json: JSON_OPTION,
  },
  examples: {
    "A request from a log": "explain request.txt --secret-file secret.txt",
    "A recorded fixture": "explain recorded/alarm.json",
    "An outcome in the log": "explain signature_mismatch",
    "A status in the gateway's history": "explain 409",
    "Headers and body in two files, at the time of the capture":
      "explain headers.txt --body body.json --now 2026-07-08T10:00:06Z",
  },
  async run(io, values, [file = "-"]) {
    const { body, now, json } = values;
    if (explainName(io, file, json)) return EXIT.passed;
    if (file === "-" && body === "-") {
      throw new UsageError("standard input cannot be both the headers and the body");
    }
    // A misspelt name needs no secret, and standard input is not read in vain.
    const fromFile = file === "-" ? undefined : await readCapture(io, file);
    const secrets = await readSecrets(io, values);
    if (!hasSecrets(secrets)) checkSecrets(secrets);
    const capture = fromFile ?? (await readInput(io, file));
    const exact = body === undefined ? undefined : await readInput(io, body);
    const diagnosis = await diagnoseSignature({
      ...parseCapturedRequest(capture, exact),
      ...(now === undefined ? {} : { now: timeOf(now) }),
      maxBodyBytes: values["max-body-bytes"],
      secret: secrets,
      otherSecrets: values["other-secret"],
    });
    if (json) writeJson(io.out, diagnosis);
    else {
      const most = Math.max(...Object.values(secrets).map(({ length }) => length));
      describeDiagnosis(io.out, diagnosis, most);
    }
    return diagnosis.result === "good" ? EXIT.passed : EXIT.failed;
  },
});

/** Shows what the documents say about a name or a status. False for any other text. */
function explainName({ out }: CommandIo, name: string, json: boolean): boolean {
  const pages = pagesOf(name);
  const status = statusPageOf(name);
  const text = isPageName(name) ? readPage(name) : undefined;
  const found = pages.length > 0 ? { pages } : (status ?? (text && { name, text }));
  if (json && found) writeJson(out, found);
  else if (pages.length > 0) describePages(out, pages);
  else if (status) describeStatus(out, status);
  else if (text) describePage(out, text);
  return Boolean(found);
}

/** The capture. A name that is no file may be a misspelt outcome or error code. */
async function readCapture(io: CommandIo, file: string): Promise<Uint8Array> {
  try {
    return await readInput(io, file);
  } catch (error) {
    if (!(error instanceof UsageError) || !/^[A-Za-z]+(?:[_-][a-z]+)*$/i.test(file)) throw error;
    const hint = hintOf(file, explainedNames());
    throw new UsageError(`${error.message}, and no outcome or error code has this name${hint}`);
  }
}

function timeOf(text: string): Date {
  if (/^[0-9]{1,12}$/.test(text)) return new Date(Number(text) * 1000);
  try {
    return parseGatewayTime(text);
  } catch {
    throw new UsageError(
      "--now must be Unix seconds, ISO 8601 or YYYY-MM-DD HH:MM:SS, such as 2026-07-08T10:00:06Z",
    );
  }
}
