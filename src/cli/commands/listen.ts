import { recordFixtures } from "../../testing/recorder/record-fixtures.js";
import { refusalSentence } from "../../testing/recorder/fixture-refusal.js";
import { printableLine } from "../terminal/printable.js";
import type { CommandIo } from "../terminal/command-io.js";
import { createCommand } from "../command.js";
import { CONNECTION_OPTIONS } from "../options/connection-options.js";
import { answeredDelivery } from "../listen/answered-delivery.js";
import { entryOf } from "../listen/delivery-entry.js";
import { createIntake, type Intake } from "../listen/delivery-intake.js";
import { EXIT } from "../terminal/exit-codes.js";
import { createForwarder } from "../listen/forwarder.js";
import { createJudge } from "../listen/judging-receiver.js";
import { writeJsonLine } from "../terminal/json-output.js";
import { describeEntry } from "../listen/listen-report.js";
import { startServer } from "../listen/listening-server.js";
import { MAX_BODY_OPTION } from "../options/max-body-option.js";
import { SECRET_OPTIONS, noSecret, readSecrets } from "../options/secret-source.js";
import { readTargetUrl, shownUrl } from "../options/target-url.js";
import { keysOf } from "../../signature/secrets.js";
import { UsageError } from "../options/usage-error.js";

/** Of a flood of forgeries no cause is looked for: each search may take a second. */
const MAX_WAITING = 20;

/** A receiver on this machine that shows what comes. */
export const listen = createCommand({
  name: "listen",
  summary: "a local receiver that shows each delivery as it comes",
  usage: "",
  positionals: { min: 0, max: 0 },
  about: [
    "Receives deliveries under any path and shows of each what the library makes of it: outcome, status, type, id, size and time, and why it is refused, if it is. Nothing of the body is shown without --show-body.",
    "With --forward every delivery goes on to your app, exact bytes and headers, whatever it is worth; the app's answer is the answer, and 503 where it gives none, or one of more than 1 MiB, so that the gateway sends again.",
    "Several secrets may be given, as during a rotation. It runs until Ctrl-C (130).",
  ],
  options: {
    port: {
      kind: "whole",
      value: "<port>",
      help: "0 takes any that is free.",
      min: 0,
      max: 65_535,
      fallback: 3_000,
    },
    host: {
      kind: "text",
      value: "<address>",
      help: "The address to listen on. Default 127.0.0.1, which only this machine reaches.",
    },
    record: {
      kind: "text",
      value: "<folder>",
      help: "Writes each authentic delivery there as a fixture, redacted and signed anew with the test secret.",
    },
    forward: { kind: "text", value: "<url>", help: "Your app." },
    "accept-unsigned": { kind: "flag", help: "Runs without a secret, and believes whoever sends." },
    "show-body": { kind: "flag", help: "Shows each body. It may be personal data." },
    "max-body-bytes": MAX_BODY_OPTION,
    ...CONNECTION_OPTIONS,
    ...SECRET_OPTIONS,
    json: {
      kind: "flag",
      help: 'Writes JSON lines: { "event": "listening" | "delivery" | "recorded" | "not_recorded", … }.',
    },
  },
  examples: [
    { does: "Shows what comes to port 3000", command: "listen" },
    {
      does: "Stands in front of your app and records what it is sent",
      command:
        "listen --port 4000 --forward http://127.0.0.1:3000/webhooks/gateway --record recorded",
    },
    { does: "For a script", command: "listen --json --port 0 | jq .outcome" },
  ],
  async run(io, values) {
    const { port, host = "127.0.0.1", record, forward, json } = values;
    const maxBodyBytes = values["max-body-bytes"];
    const secrets = await secretsOf(io, values);
    const recorder = record === undefined ? undefined : createRecorder(io, record, json);
    const url = forward === undefined ? undefined : readTargetUrl(forward);
    const { timeout: timeoutMs, insecure: skipTlsVerification } = values;
    const forwarder = url && createForwarder(url, { timeoutMs, skipTlsVerification });
    const judge = createJudge({ secrets, maxBodyBytes });

    // After the answer, and one after the other: the search for a cause takes its time.
    let shown = Promise.resolve();
    let waiting = 0;
    const onIntake = (intake: Intake): void => {
      const delivery = answeredDelivery(intake);
      if (delivery !== undefined) recorder?.(delivery);
      waiting += 1;
      const isDiagnosed = secrets.length > 0 && waiting <= MAX_WAITING;
      shown = shown.then(async () => {
        const entry = await entryOf(intake, {
          secrets,
          maxBodyBytes,
          isDiagnosed,
          showsBody: values["show-body"],
        });
        waiting -= 1;
        if (json) writeJsonLine(io.out, { event: "delivery", ...entry });
        else describeEntry(io.out, entry);
      });
    };
    const server = await startServer(createIntake(judge, forwarder, onIntake), port, host);
    if (json) writeJsonLine(io.out, { event: "listening", url: server.url });
    else {
      const goesOn = url === undefined ? "" : `, which goes on to ${shownUrl(url)}`;
      io.out.write(`${io.out.style("bold", `listening on ${server.url}`)}${goesOn}\n`);
    }
    if (secrets.length === 0) {
      io.err.write(`${io.err.style("yellow", "without a secret: whoever sends is believed")}\n`);
    }

    await aborted(io.signal);
    await server.close();
    forwarder?.close();
    await Promise.all([shown, recorder?.flush()]);
    return EXIT.passed;
  },
});

async function secretsOf(
  io: CommandIo,
  values: Parameters<typeof readSecrets>[1] & { readonly "accept-unsigned": boolean },
): Promise<readonly string[]> {
  const secrets = await readSecrets(io, values);
  if (values["accept-unsigned"]) {
    if (secrets.length > 0) {
      throw new UsageError("a secret and --accept-unsigned are both given: leave one out");
    }
    return [];
  }
  if (secrets.length === 0) throw noSecret(", or --accept-unsigned to believe whoever sends");
  keysOf(secrets);
  return secrets;
}

function createRecorder(io: CommandIo, directory: string, json: boolean) {
  const { out } = io;
  return recordFixtures({
    directory,
    onRecorded: (file) => {
      if (json) writeJsonLine(out, { event: "recorded", file });
      else out.write(`          recorded: ${printableLine(file)}\n`);
    },
    onRefused: (refusal) => {
      const reason = refusalSentence(refusal);
      if (json) writeJsonLine(out, { event: "not_recorded", reason });
      else
        out.write(`          ${out.style("red", `not recorded: ${printableLine(reason, 500)}`)}\n`);
    },
  });
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener(
      "abort",
      () => {
        resolve();
      },
      { once: true },
    );
  });
}
