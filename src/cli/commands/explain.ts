import { parseGatewayTime } from "../../records/gateway-time.js";
import { parseCapturedRequest } from "../../testing/diagnosis/parse-captured-request.js";
import { diagnoseSignature } from "../../testing/diagnosis/diagnose-signature.js";
import { createCommand } from "../command.js";
import { EXIT } from "../terminal/exit-codes.js";
import { describeDiagnosis } from "../explain-report.js";
import { JSON_OPTION, writeJson } from "../terminal/json-output.js";
import { readInput } from "../options/read-input.js";
import { MAX_BODY_OPTION } from "../options/max-body-option.js";
import { SECRET_OPTIONS, noSecret, readSecrets } from "../options/secret-source.js";
import { UsageError } from "../options/usage-error.js";

/** Says why a captured delivery is refused. */
export const explain = createCommand({
  name: "explain",
  summary: "says why the signature of a captured request does not match",
  usage: "[file]",
  positionals: { min: 0, max: 1 },
  about: [
    "Reads a captured request from a file or from standard input: HTTP as it goes over a socket, with or without the request line; what curl -v prints; a fixture; HAR; or an event of AWS API Gateway. With --body the file holds the head alone.",
    "Undoes what is known to happen to secrets, headers and bodies until a secret gives the very signature. What it says holds no secret, no signature and nothing of the body.",
    "Exits 0 when a receiver with this secret takes the request as authentic and fresh, 1 otherwise.",
  ],
  options: {
    body: {
      kind: "text",
      value: "<file>",
      help: "The exact body, where it is in a file of its own.",
    },
    now: {
      kind: "text",
      value: "<time>",
      help: "The moment of capture: Unix seconds, ISO 8601, or YYYY-MM-DD HH:MM:SS in UTC. Default that of the capture, where it has one, and else the clock.",
    },
    "other-secret": {
      kind: "list",
      value: "<secret>",
      help: "A secret that it may be signed with by mistake: an old one, another system's.",
    },
    "max-body-bytes": MAX_BODY_OPTION,
    ...SECRET_OPTIONS,
    json: JSON_OPTION,
  },
  examples: [
    { does: "A request from a log", command: "explain request.txt --secret-file secret.txt" },
    { does: "A recorded fixture", command: "explain recorded/alarm.json" },
    {
      does: "Headers and body apart, at the moment of capture",
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
    // The empty line behind a head is missing where the head is all there is.
    const capture = body === undefined ? given : Buffer.concat([given, Buffer.from("\r\n\r\n")]);
    const captured = parseCapturedRequest(capture);
    const diagnosis = await diagnoseSignature({
      ...captured,
      ...(body === undefined ? {} : { body: await readInput(io, body) }),
      ...(now === undefined ? {} : { now: momentOf(now) }),
      maxBodyBytes: values["max-body-bytes"],
      secret: secrets,
      otherSecrets: values["other-secret"],
    });
    if (json) writeJson(io.out, diagnosis);
    else describeDiagnosis(io.out, diagnosis, secrets.length);
    return diagnosis.verdict === "good" ? EXIT.passed : EXIT.failed;
  },
});

function momentOf(text: string): Date {
  if (/^[0-9]{1,12}$/.test(text)) return new Date(Number(text) * 1000);
  try {
    return parseGatewayTime(text);
  } catch {
    throw new UsageError(
      "--now has to be Unix seconds, ISO 8601 or YYYY-MM-DD HH:MM:SS, such as 2026-07-08T10:00:06Z",
    );
  }
}
