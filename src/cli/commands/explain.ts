import { parseGatewayTime } from "../../records/gateway-time.js";
import { parseCapturedRequest } from "../../testing/diagnosis/parse-captured-request.js";
import { diagnoseSignature } from "../../testing/diagnosis/diagnose-signature.js";
import { createCommand } from "../command.js";
import { EXIT, UsageError } from "../exit.js";
import { describeDiagnosis } from "../explain-report.js";
import { JSON_OPTION, MAX_BODY_OPTION } from "../options/shared-options.js";
import { writeJson } from "../terminal/printable.js";
import { readInput } from "../options/read-input.js";
import { SECRET_OPTIONS, noSecret, readSecrets } from "../options/secret-source.js";

/** Says why a receiver refuses a captured delivery. */
export const explain = createCommand({
  name: "explain",
  summary: "says why the signature of a captured request does not match",
  usage: "[file]",
  positionals: { min: 0, max: 1 },
  about: [
    "Reads a captured request from a file or from standard input: raw HTTP, with or without the request line; the output of curl -v; a fixture; HAR; or an event of AWS API Gateway. With --body the file holds only the head.",
    "Undoes the known mistakes with secrets, headers and bodies until a secret gives this signature. The output holds no secret, no signature and nothing of the body.",
    "Exits 0 when a receiver with this secret accepts the request as authentic and fresh, 1 otherwise.",
  ],
  options: {
    body: {
      kind: "text",
      value: "<file>",
      help: "The file with the exact body, if the capture holds only the head.",
    },
    now: {
      kind: "text",
      value: "<time>",
      help: "The time of the capture: Unix seconds, ISO 8601, or YYYY-MM-DD HH:MM:SS in UTC. Default: the time in the capture, otherwise the current time.",
    },
    "other-secret": {
      kind: "list",
      value: "<secret>",
      help: "A secret that may have been used by mistake: an old one, or one of another system.",
    },
    "max-body-bytes": MAX_BODY_OPTION,
    ...SECRET_OPTIONS,
    json: JSON_OPTION,
  },
  examples: [
    { does: "A request from a log", command: "explain request.txt --secret-file secret.txt" },
    { does: "A recorded fixture", command: "explain recorded/alarm.json" },
    {
      does: "Headers and body in two files, at the time of the capture",
      command: "explain headers.txt --body body.json --now 2026-07-08T10:00:06Z",
    },
  ],
  async run(io, values, [file = "-"]) {
    const secrets = await readSecrets(io, values);
    if (secrets.length === 0) throw noSecret();
    const { body, now, json } = values;
    if (file === "-" && body === "-") {
      throw new UsageError("standard input cannot be both the headers and the body");
    }
    const given = await readInput(io, file);
    // A file that holds only the head may lack the empty line after it.
    const capture = body === undefined ? given : Buffer.concat([given, Buffer.from("\r\n\r\n")]);
    const captured = parseCapturedRequest(capture);
    const diagnosis = await diagnoseSignature({
      ...captured,
      ...(body === undefined ? {} : { body: await readInput(io, body) }),
      ...(now === undefined ? {} : { now: timeOf(now) }),
      maxBodyBytes: values["max-body-bytes"],
      secret: secrets,
      otherSecrets: values["other-secret"],
    });
    if (json) writeJson(io.out, diagnosis);
    else describeDiagnosis(io.out, diagnosis, secrets.length);
    return diagnosis.result === "good" ? EXIT.passed : EXIT.failed;
  },
});

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
