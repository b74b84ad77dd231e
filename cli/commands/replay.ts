import { loadFixtures } from "../../kit/fixtures/load-fixtures.js";
import type { Fixture } from "../../kit/fixtures/fixture.js";
import { replayFixtures } from "../../kit/fixtures/replay-fixtures.js";
import { webhookTypeOf, type ReplayResult } from "../../kit/fixtures/replay-report.js";
import { WEBHOOK_TYPES } from "../../src/common/gateway-facts.js";

import { createCommand } from "../command.js";
import { CONNECTION_OPTIONS, JSON_OPTION, typesOf } from "../options/shared-options.js";
import { EXIT, untilAborted, UsageError } from "../exit.js";
import { writeJson } from "../terminal/printable.js";
import { createProgressBar } from "../terminal/progress-bar.js";
import { connectionFault } from "../send/connection-fault.js";
import { describeObstacle } from "../doctor/closing-report.js";
import { connectionObstacle } from "../doctor/preflight.js";
import { describeReplay, isProven } from "../print-replay.js";
import { readSenderSecret, SECRET_OPTIONS } from "../options/secret-source.js";
import { readTargetUrl, shownUrl } from "../options/target-url.js";
import { flag, list, text } from "../options/option-specs.js";

/** Sends recorded fixtures and compares the answers with what they expect. */
export const replay = createCommand({
  name: "replay",
  summary: "sends recorded fixtures and compares the answers",
  usage: "<files…> --to <url>",
  positionals: { min: 1, max: 10_000 },
  about: [
    "Sends fixtures one after the other: files, whole folders, or patterns. Each is signed again with your secret, under a new id and with the age that it had when it was received. A bad signature stays bad, since the endpoint must refuse that fixture.",
    "Compares the status with the fixture's expectation, and the outcome if the answer names one of this library. The answer of another receiver is as expected if the gateway does the same after it; a 2xx of it is shown with ~, since by whom it is answered is not known. A 2xx with an HTML page is never as expected. A fixture without an expectation is shown as not judged.",
    "Exits 0 when every fixture is answered as it expects, 1 otherwise, and also when none says what it expects.",
  ],
  options: {
    to: text("<url>", "The URL to send to. Required."),
    type: list(
      "<type>",
      `Sends only fixtures of this X-Webhook-Type: ${WEBHOOK_TYPES.join(", ")}. May be repeated.`,
    ),
    "as-recorded": flag(
      "Sends each fixture byte for byte: for a receiver with the fixtures' secret and a clock at the time of the recording.",
    ),
    "same-ids": flag("Keeps the recorded ids. A receiver that knows them answers duplicate."),
    "fixture-secret": text(
      "<secret>",
      "The secret that the fixtures are signed with. Default: the published test secret.",
    ),
    ...CONNECTION_OPTIONS,
    ...SECRET_OPTIONS,
    json: JSON_OPTION,
  },
  examples: {
    "The fixtures of this package":
      "replay node_modules/identity-gateway-webhooks/fixtures --to http://127.0.0.1:3000/webhooks/gateway",
    "The recordings of `listen --record recorded`":
      "replay recorded --to http://127.0.0.1:3000/webhooks/gateway",
    "Only alarms, for a script":
      "replay fixtures --type new_alarm --to 127.0.0.1:3000/webhooks/gateway --json",
  },
  async run(io, values, files) {
    const { to, timeout, insecure, "as-recorded": asRecorded, "same-ids": sameIds } = values;
    if (to === undefined) throw new UsageError("missing option: --to <url>");
    const url = readTargetUrl(to);
    const signing = asRecorded
      ? {}
      : {
          resign: true,
          freshIds: !sameIds,
          secret: await readSenderSecret(io, values, typesOf(values.type)),
        };
    const fixtures = ofTypes(await loadFixtures(files), values.type);

    const fault = await untilAborted(
      io.signal,
      connectionFault(url, { skipTlsVerification: insecure }, io.signal),
    );
    if (fault !== undefined) {
      const obstacle = connectionObstacle(url, fault);
      if (values.json)
        writeJson(io.out, { url: shownUrl(url), obstacle, results: [], passed: false });
      else describeObstacle(io.out, obstacle, "No fixture was sent.");
      return EXIT.failed;
    }

    const results: ReplayResult[] = [];
    const bar = createProgressBar(io.err, fixtures.length);
    const onResult = (result: ReplayResult): void => {
      io.signal.throwIfAborted();
      results.push(result);
      bar.advance(result.name);
    };
    try {
      const replaying = replayFixtures(url, fixtures, {
        ...signing,
        fixtureSecret: values["fixture-secret"],
        timeoutMs: timeout,
        skipTlsVerification: insecure,
        onResult,
      });
      await untilAborted(io.signal, replaying);
    } finally {
      bar.end();
      // Also shows the results of an interrupted replay.
      if (!values.json) describeReplay(io.out, url, results, fixtures);
    }
    const passed = isProven(results);
    if (values.json) writeJson(io.out, { url: shownUrl(url), results, passed });
    return passed ? EXIT.passed : EXIT.failed;
  },
});

/** The fixtures of the given types. Without a type all of them, also those of an unknown type. */
function ofTypes(fixtures: readonly Fixture[], types: readonly string[]): readonly Fixture[] {
  if (types.length === 0) return fixtures;
  const wanted: readonly (string | undefined)[] = typesOf(types);
  const left = fixtures.filter((fixture) => wanted.includes(webhookTypeOf(fixture)));
  if (left.length === 0) throw new UsageError(`no fixture is of the type ${types.join(" or ")}`);
  return left;
}
