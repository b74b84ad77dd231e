import { writeFile } from "node:fs/promises";
import type { ConformanceCase } from "../../testing/conformance/conformance-case.js";
import { receiverConformance } from "../../testing/conformance/receiver-conformance.js";
import {
  runConformance,
  type ConformanceCaseReport,
} from "../../testing/conformance/run-conformance.js";
import { WEBHOOK_TYPES, isWebhookType, type WebhookType } from "../../delivery/headers.js";
import { createCommand } from "../command.js";
import { CONNECTION_OPTIONS, JSON_OPTION, MAX_BODY_OPTION } from "../options/shared-options.js";
import { caseJson, caseJunit } from "../doctor/doctor-files.js";
import {
  describeCases,
  describeRepeatedTimestamp,
  describeSummary,
  hasPassed,
} from "../doctor/doctor-report.js";
import { EXIT, untilAborted, UsageError } from "../exit.js";
import { probeRepeatedTimestamp } from "../doctor/repeated-timestamp.js";
import { createHandledProbe, isLocalProbe } from "../doctor/handled-probe.js";
import { PROGRAM } from "../help-text.js";
import { writeJson, printableLine } from "../terminal/printable.js";
import { renderJunit } from "../doctor/junit-report.js";
import { hintOf } from "../options/nearest-name.js";
import { createProgressBar } from "../terminal/progress-bar.js";
import { unreachableReason } from "../doctor/reachable.js";
import { fileFault } from "../options/read-input.js";
import { SECRET_OPTIONS, readOneSecret } from "../options/secret-source.js";
import { isLoopback, readTargetUrl, shownUrl } from "../options/target-url.js";

/** Tests a running endpoint. */
export const doctor = createCommand({
  name: "doctor",
  summary: "tests a running endpoint, in any language",
  usage: "<url>",
  positionals: { min: 1, max: 1 },
  about: [
    "Sends made-up deliveries, valid and invalid ones, and checks the answers: what is handled, what is refused, and above all what would make the gateway give up an alarm for good. The endpoint needs the secret that you pass here, and handles the valid deliveries as if they were real.",
    "Without --yes it refuses to send to another machine.",
    'Exits 0 when every case passed that must pass, and 1 otherwise. With --strict the cases that should pass count too. A case that cannot be seen from outside is "not judged", with the reason. A note at the end says which retries would be refused if the gateway repeated its first timestamp; it does not change the exit code.',
  ],
  options: {
    yes: { kind: "flag", help: "Allows sending to another machine." },
    handled: {
      kind: "text",
      value: "<url>",
      help: "A URL with {id} that answers with a number: how often the delivery with that id was handled (404 counts as 0). It reveals deliveries that were handled twice or lost behind a 200.",
    },
    type: {
      kind: "list",
      value: "<type>",
      help: `A webhook type that the endpoint is registered for. Default: both, ${WEBHOOK_TYPES.join(", ")}.`,
    },
    "max-body-bytes": MAX_BODY_OPTION,
    only: { kind: "list", value: "<id>", help: "Runs only this case. May be repeated." },
    skip: { kind: "list", value: "<id>", help: "Skips this case. May be repeated." },
    strict: { kind: "flag", help: "Also exits 1 when a case that should pass fails." },
    junit: { kind: "text", value: "<file>", help: "Also writes a JUnit report." },
    ...CONNECTION_OPTIONS,
    ...SECRET_OPTIONS,
    json: JSON_OPTION,
  },
  examples: [
    {
      does: "An endpoint on this machine",
      command: "doctor http://127.0.0.1:3000/webhooks/gateway",
    },
    {
      does: "With a check of what happened behind each 200",
      command:
        "doctor http://127.0.0.1:3000/webhooks/gateway --handled http://127.0.0.1:3000/handled/{id}",
    },
    {
      does: "A staging system, from CI",
      command: "doctor https://staging.example.com/webhooks/gateway --yes --junit doctor.xml",
    },
  ],
  async run(io, values, [given = ""]) {
    const url = readTargetUrl(given);
    const { handled, timeout, insecure, junit, json } = values;
    if (!values.yes && !(isLoopback(url) && isLocalProbe(handled))) {
      throw new UsageError(
        "this would send made-up deliveries to another machine, which may act on them: add --yes to allow it",
      );
    }
    const connection = { timeoutMs: timeout, skipTlsVerification: insecure };
    const secret = await readOneSecret(io, values);
    const types = typesOf(values.type);
    const cases = chosen(
      receiverConformance({
        ...connection,
        target: url,
        secret,
        types,
        handled: handled === undefined ? undefined : createHandledProbe(handled, connection),
        maxBodyBytes: values["max-body-bytes"],
      }),
      values.only,
      values.skip,
    );
    const unreachable = await untilAborted(io.signal, unreachableReason(url, timeout));
    if (unreachable !== undefined) {
      io.err.write(`no connection to ${shownUrl(url)}: ${unreachable}\n`);
      return EXIT.failed;
    }

    io.err.write(
      `${cases.length} ${cases.length === 1 ? "case" : "cases"} with made-up deliveries, which the endpoint may handle as real ones.\n`,
    );
    const ends: ConformanceCaseReport[] = [];
    const bar = createProgressBar(io.err, cases.length);
    try {
      const onResult = (end: ConformanceCaseReport): void => {
        ends.push(end);
        bar.advance(end.title);
      };
      await untilAborted(io.signal, runConformance(cases, { onResult, signal: io.signal }));
    } finally {
      bar.end();
      if (!json) {
        io.out.write(`${io.out.style("bold", shownUrl(url))}\n\n`);
        describeCases(io.out, ends);
      }
    }
    const passed = hasPassed(ends, values.strict);
    const [type = WEBHOOK_TYPES[0]] = types;
    // With --only the report shows nothing but those cases.
    const repeated =
      values.only.length > 0
        ? undefined
        : await probeRepeatedTimestamp(url, { ...connection, secret, type, signal: io.signal });
    if (json) {
      const cases = ends.map(caseJson);
      writeJson(io.out, { url: shownUrl(url), cases, repeatedTimestamp: repeated, passed });
    } else {
      if (repeated !== undefined) describeRepeatedTimestamp(io.out, repeated);
      describeSummary(io.out, ends, passed);
    }
    if (junit !== undefined) await writeReport(junit, ends, values.strict);
    return passed ? EXIT.passed : EXIT.failed;
  },
});

function typesOf(given: readonly string[]): readonly WebhookType[] {
  if (given.length === 0) return WEBHOOK_TYPES;
  const types = given.filter(isWebhookType);
  if (types.length === given.length) return types;
  throw new UsageError(`--type must be one of ${WEBHOOK_TYPES.join(", ")}`);
}

function chosen(
  cases: readonly ConformanceCase[],
  only: readonly string[],
  skip: readonly string[],
): readonly ConformanceCase[] {
  const ids = cases.map(({ id }) => id);
  const unknown = [...only, ...skip].find((id) => !ids.includes(id));
  if (unknown !== undefined) {
    throw new UsageError(
      `there is no case ${printableLine(unknown, 60)}${hintOf(unknown, ids) || "."} The cases are ${ids.join(", ")}`,
    );
  }
  const left = cases.filter(
    ({ id }) => (only.length === 0 || only.includes(id)) && !skip.includes(id),
  );
  if (left.length === 0) throw new UsageError("--only and --skip leave no case");
  return left;
}

async function writeReport(
  path: string,
  ends: readonly ConformanceCaseReport[],
  strict: boolean,
): Promise<void> {
  const cases = ends.map((end) => caseJunit(end, strict));
  try {
    await writeFile(path, renderJunit(`${PROGRAM} doctor`, cases));
  } catch (error) {
    throw new UsageError(`--junit: ${fileFault(path, error)}`);
  }
}
