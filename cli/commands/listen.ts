import { recordFixtures, type RecordFixturesOptions } from "../../kit/recorder/record-fixtures.js";
import { refusalSentence } from "../../kit/recorder/fixture-refusal.js";
import { printableLine, writeJsonLine } from "../terminal/printable.js";
import type { CommandIo } from "../terminal/command-io.js";
import { createCommand } from "../command.js";
import { CONNECTION_OPTIONS, MAX_BODY_OPTION } from "../options/shared-options.js";
import { answeredDelivery } from "../listen/answered-delivery.js";
import { entryOf } from "../listen/delivery-entry.js";
import { DeliveryIntake, type Intake } from "../listen/delivery-intake.js";
import { aborted, EXIT, UsageError } from "../exit.js";
import { Forwarder } from "../listen/forwarder.js";
import { VerifyingReceiver } from "../listen/verifying-receiver.js";
import { describeEntry } from "../listen/listen-report.js";
import { startServer } from "../listen/listening-server.js";
import { SECRET_OPTIONS, noSecret, readSecrets } from "../options/secret-source.js";
import { readTargetUrl, shownUrl } from "../options/target-url.js";
import { keysOf } from "../../src/signature/secrets.js";
import { flag, list, text, whole } from "../options/option-specs.js";

/** In a flood of forgeries the causes are not searched for: each search may take a second. */
const MAX_WAITING = 20;

/** A receiver on this machine that shows each request. */
export const listen = createCommand({
  name: "listen",
  summary: "a local receiver that shows each delivery when it arrives",
  usage: "",
  positionals: { min: 0, max: 0 },
  about: [
    "Receives deliveries on any path. Shows for each one the outcome, status, type, id, size and time, and why it is refused. It never shows the body without --show-body.",
    "With --forward it passes every delivery on to your app, also invalid ones, with the exact bytes and headers, and returns the app's answer. It answers 503 if the app gives no answer or more than 1 MiB, so that the gateway sends again.",
    "During a rotation, pass several secrets. It runs until Ctrl-C (exit code 130).",
  ],
  options: {
    port: whole("<port>", { min: 0, max: 65_535, fallback: 3_000 }, "0 takes any free port."),
    host: text(
      "<address>",
      "The address to listen on. Default 127.0.0.1, which only this machine can reach.",
    ),
    record: text(
      "<folder>",
      "Writes each authentic delivery to this folder as a fixture, redacted and signed again with the test secret.",
    ),
    "keep-keys": list(
      "<path>",
      "With --record, also keeps the keys of this path, with placeholders as values: alarm.payload.breach.*, alarm.payload.*_date, or alarm.payload.** for all below. May be repeated.",
    ),
    "keep-values": list(
      "<path>",
      "With --record, keeps the values of this path as they are. May be repeated.",
    ),
    forward: text("<url>", "The URL of your app."),
    "accept-unsigned": flag("Runs without a secret, and accepts deliveries from anyone."),
    "show-body": flag("Shows each body. It may be personal data."),
    "max-body-bytes": MAX_BODY_OPTION,
    ...CONNECTION_OPTIONS,
    ...SECRET_OPTIONS,
    json: flag(
      'Writes JSON lines: { "event": "listening" | "delivery" | "recorded" | "not_recorded", … }.',
    ),
  },
  examples: {
    "Shows what arrives on port 3000": "listen",
    "In front of your app, and records its deliveries":
      "listen --port 4000 --forward http://127.0.0.1:3000/webhooks/gateway --record recorded",
    "Fixtures for a parser of the payload: its keys stay":
      "listen --record recorded --keep-keys 'alarm.payload.**'",
    "For a script": "listen --json --port 0 | jq .outcome",
  },
  async run(io, values) {
    const { port, host = "127.0.0.1", record, forward, json } = values;
    const maxBodyBytes = values["max-body-bytes"];
    const secrets = await secretsOf(io, values);
    const redact = { keepKeys: values["keep-keys"], keepValues: values["keep-values"] };
    if (record === undefined && redact.keepKeys.length + redact.keepValues.length > 0) {
      throw new UsageError("--keep-keys and --keep-values need --record");
    }
    const recorder =
      record === undefined ? undefined : createRecorder(io, { directory: record, redact }, json);
    const url = forward === undefined ? undefined : readTargetUrl(forward);
    const { timeout: timeoutMs, insecure: skipTlsVerification } = values;
    const forwarder = url && new Forwarder(url, { timeoutMs, skipTlsVerification });
    const receiver = new VerifyingReceiver({ secrets, maxBodyBytes });

    // After the answer, and one at a time: the search for a cause is slow.
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
    const intake = new DeliveryIntake(receiver, forwarder, onIntake);
    const server = await startServer(intake.answer.bind(intake), port, host);
    if (json) writeJsonLine(io.out, { event: "listening", url: server.url });
    else {
      const forwarding = url === undefined ? "" : `, forwarding to ${shownUrl(url)}`;
      io.out.write(`${io.out.style("bold", `listening on ${server.url}`)}${forwarding}\n`);
    }
    if (secrets.length === 0) {
      io.err.write(
        `${io.err.style("yellow", "without a secret: deliveries from anyone are accepted")}\n`,
      );
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
      throw new UsageError("a secret and --accept-unsigned exclude each other: leave one out");
    }
    return [];
  }
  if (secrets.length === 0)
    throw noSecret(", or --accept-unsigned to accept deliveries from anyone");
  keysOf(secrets);
  return secrets;
}

function createRecorder(
  io: CommandIo,
  options: Pick<RecordFixturesOptions, "directory" | "redact">,
  json: boolean,
) {
  const { out } = io;
  return recordFixtures({
    ...options,
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
