import { recordFixtures, type RecordFixturesOptions } from "../../kit/recorder/record-fixtures.js";
import { answeredDelivery } from "../../kit/listener/delivery-fixture.js";
import { startApi } from "../../kit/listener/listener-api.js";
import { Forwarder } from "../../kit/listener/forwarder.js";
import { bodyFields } from "../../kit/fixtures/fixture.js";
import { Listener } from "../../kit/listener/listener.js";
import { startServer } from "../../kit/listener/local-server.js";
import { refusalSentence } from "../../kit/recorder/fixture-refusal.js";
import { printableLine, writeEvent, writeJsonLine } from "../terminal/printable.js";
import type { CommandIo } from "../terminal/command-io.js";
import { createCommand } from "../command.js";
import {
  CONNECTION_OPTIONS,
  HOST_OPTION,
  HOSTS_OPTION,
  MAX_BODY_OPTION,
} from "../options/shared-options.js";
import { listenerPage } from "../listen/listener-page.js";
import { aborted, EXIT, UsageError } from "../exit.js";
import { describeEntry, INDENT } from "../listen/listen-report.js";
import {
  checkSecrets,
  hasSecrets,
  readSecrets,
  SECRET_OPTIONS,
  type TypeSecrets,
} from "../options/secret-source.js";
import { readTargetUrl, shownUrl } from "../options/target-url.js";
import { flag, list, text, whole } from "../options/option-specs.js";

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
    host: HOST_OPTION,
    record: text(
      "<folder>",
      "Writes each authentic delivery to this folder as a fixture, redacted and signed again with the test secret.",
    ),
    "keep-keys": list(
      "<path>",
      "With --record, keeps the names of the keys of this path, with placeholders as values: alarm.payload.breach.name. A * is any index of a list. May be repeated.",
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
    page: flag(
      "Also serves a page on this machine alone: the deliveries with their findings and bodies, and keys to send them again. Prints its address with a token, which is secret.",
    ),
    "page-port": whole(
      "<port>",
      { min: 0, max: 65_535 },
      "With --page, the port of the page. Default: any free one.",
    ),
    "allow-host": HOSTS_OPTION,
    json: flag(
      'Writes JSON lines: { "event": "listening" | "page" | "delivery" | "recorded" | "not_recorded", … }.',
    ),
  },
  examples: {
    "Shows what arrives on port 3000": "listen",
    "In front of your app, and records its deliveries":
      "listen --port 4000 --forward http://127.0.0.1:3000/webhooks/gateway --record recorded",
    "Fixtures for a parser of the payload: these keys stay":
      "listen --record recorded --keep-keys alarm.payload.breach.name",
    "In a browser, where a delivery can be edited and sent again":
      "listen --page --forward http://127.0.0.1:3000/webhooks/gateway",
    "For a script": "listen --json --port 0 | jq .outcome",
  },
  async run(io, values) {
    const { port, host = "127.0.0.1", record, forward, json } = values;
    const { "max-body-bytes": maxBodyBytes, "page-port": pagePort } = values;
    if (pagePort !== undefined && !values.page) throw new UsageError("--page-port needs --page");
    const secret = await secretsOf(io, values);
    const redact = { keepKeys: values["keep-keys"], keepValues: values["keep-values"] };
    if (record === undefined && redact.keepKeys.length + redact.keepValues.length > 0) {
      throw new UsageError("--keep-keys and --keep-values need --record");
    }
    const recorder =
      record === undefined ? undefined : createRecorder(io, { directory: record, redact }, json);
    const url = forward === undefined ? undefined : readTargetUrl(forward);
    const forwarder = url && new Forwarder(url, values.timeout, values.insecure);
    const listener = new Listener({
      secret,
      maxBodyBytes,
      forwarder,
      onIntake(intake) {
        const delivery = answeredDelivery(intake);
        if (delivery !== undefined) recorder?.(delivery);
      },
      onEntry(entry, { body }) {
        const shown = { ...entry, ...(values["show-body"] && body ? bodyFields(body) : {}) };
        if (json) writeJsonLine(io.out, { event: "delivery", ...shown });
        else describeEntry(io.out, shown);
      },
    });
    const server = await startServer(listener.answer.bind(listener), port, host, "any").catch(
      (error: unknown) => {
        throw new UsageError(faultOf(error as NodeJS.ErrnoException, port, host));
      },
    );
    const forwarding = url === undefined ? "" : `, forwarding to ${shownUrl(url)}`;
    const shownAddress = io.out.style("bold", `listening on ${server.url}`);
    const event = { event: "listening", url: server.url };
    writeEvent(io.out, json, event, `${shownAddress}${forwarding}`);
    const openPage = async () => {
      const html = await listenerPage(server.url);
      return startApi(listener, html, values["allow-host"], pagePort).catch((error: unknown) => {
        const failed = error as NodeJS.ErrnoException;
        throw new UsageError(faultOf(failed, pagePort ?? 0, "127.0.0.1", "--page-port"));
      });
    };
    const page = values.page ? await openPage() : undefined;
    if (page !== undefined) {
      const address = `${page.url}#${page.token}`;
      writeEvent(io.out, json, { event: "page", url: address }, `the page: ${address}`);
    }
    const open = "without a secret: deliveries from anyone are accepted";
    if (secret === undefined) io.err.write(`${io.err.style("yellow", open)}\n`);

    await aborted(io.signal);
    await Promise.all([server.close(), page?.close()]);
    forwarder?.close();
    await Promise.all([listener.settled(), recorder?.flush()]);
    return EXIT.passed;
  },
});

function faultOf(
  { code = "", message }: NodeJS.ErrnoException,
  port: number,
  host: string,
  option = "--port",
): string {
  const faults: Readonly<Record<string, string>> = {
    EADDRINUSE: `port ${port} is in use: choose another with ${option}, or 0 for any free port`,
    EACCES: `port ${port} is not allowed: choose 1024 or higher with ${option}`,
    ENOTFOUND: `--host ${host} is not an address of this machine`,
    EADDRNOTAVAIL: `--host ${host} is not an address of this machine`,
  };
  return faults[code] ?? message;
}

async function secretsOf(
  io: CommandIo,
  values: Parameters<typeof readSecrets>[1] & { readonly "accept-unsigned": boolean },
): Promise<TypeSecrets | undefined> {
  const secrets = await readSecrets(io, values);
  if (!values["accept-unsigned"]) {
    checkSecrets(secrets, undefined, ", or --accept-unsigned to accept deliveries from anyone");
    return secrets;
  }
  if (!hasSecrets(secrets)) return undefined;
  throw new UsageError("a secret and --accept-unsigned exclude each other: leave one out");
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
      const line = `recorded: ${printableLine(file)}`;
      writeEvent(out, json, { event: "recorded", file }, `${INDENT}${line}`);
    },
    onRefused: (refusal) => {
      const reason = refusalSentence(refusal);
      const line = out.style("red", `not recorded: ${printableLine(reason, 500)}`);
      writeEvent(out, json, { event: "not_recorded", reason }, `${INDENT}${line}`);
    },
  });
}
