import { pause } from "../../src/common/timers.js";
import { secretFingerprint } from "../../src/management/old-secret-watch.js";
import { rotateSecret } from "../../src/management/rotate-secret.js";
import { proveSecret, type SecretProof } from "../../src/management/prove-secret.js";
import { webhooksAt } from "../../src/management/webhook.js";
import { createCommand } from "../command.js";
import { EXIT, UsageError } from "../exit.js";
import { SECRET_OPTIONS } from "../options/secret-source.js";
import { JSON_OPTION, typesOf } from "../options/shared-options.js";
import { readTargetUrl, shownUrl } from "../options/target-url.js";
import { printableLine, writeJson } from "../terminal/printable.js";
import { connectToGateway, GATEWAY_OPTIONS } from "./gateway-connection.js";
import { watchUntilQuiet, type WatchResult } from "./old-secret.js";
import { ONE_TYPE, readCurrentSecret, secretInFile } from "./private-file.js";
import {
  describeFailedProof,
  PROOF_OPTIONS,
  proofOptionsOf,
  TYPE_OPTION,
  type FailedProofWords,
} from "./proof-options.js";
import { writeResult, writeWarning } from "./report-lines.js";
import { lockFileOf, lockRotation } from "./rotation-lock.js";
import {
  readRotation,
  standingOf,
  switchedState,
  writeRotation,
  type RotationState,
} from "./rotation-state.js";
import { flag, list, text, whole } from "../options/option-specs.js";

const DAY_S = 86_400;

/** Gives the gateway and the receivers a new secret. */
export const rotate = createCommand({
  name: "webhooks rotate",
  summary: "gives the gateway a new secret, and loses no delivery",
  usage: "<url>",
  about: [
    "1. Makes a new secret in --next-file. 2. You deploy [next, current] to every replica. 3. Probes prove that every replica accepts both; they run nothing there. 4. The gateway gets the new secret. 5. With --metrics, watches until the old secret has been quiet for 72 hours, then tells you to remove it.",
    "It can be stopped and started again at any time with the same options. The state is in a file beside --next-file. The next rotation needs another file.",
    "Exits 0 when the gateway was given the new secret and, with --metrics, the old one may be removed; 1 if not. Without --metrics it is not proven that the gateway uses the new one. The old one may be removed after a delivery with the new one and 72 quiet hours, with a look each 2 hours at least.",
  ],
  options: {
    "next-file": text(
      "<file>",
      "The new secret, readable by you alone. It is made if the file is missing. Required.",
    ),
    type: TYPE_OPTION,
    metrics: list(
      "<url>",
      "The metrics of a replica in the text format of Prometheus. Give one for each replica.",
    ),
    quiet: whole(
      "<s>",
      { min: 1, max: 365 * DAY_S, fallback: 3 * DAY_S },
      "How long the old secret must be quiet. Seconds.",
    ),
    "look-every": whole(
      "<s>",
      { min: 1, max: 3_600, fallback: 60 },
      "The pause between two looks at the metrics. Seconds.",
    ),
    once: flag(
      "Looks at the metrics once, and exits 1 if it is too early. For a cron job each few minutes.",
    ),
    ...PROOF_OPTIONS,
    ...GATEWAY_OPTIONS,
    ...SECRET_OPTIONS,
    json: JSON_OPTION,
  },
  examples: {
    "The current secret in GATEWAY_WEBHOOK_SECRET":
      "webhooks rotate https://partner.example/webhooks --next-file next.txt",
  },
  async run(io, values, [given = ""]) {
    const url = readTargetUrl(given);
    const { json, timeout: timeoutMs, metrics, once } = values;
    const nextFile = values["next-file"];
    if (nextFile === undefined)
      throw new UsageError("--next-file is missing: a file for the new secret");
    for (const one of metrics) readTargetUrl(one);
    const current = await readCurrentSecret(io, values);
    if (typeof current === "object") throw new UsageError(ONE_TYPE);
    const proofOptions = proofOptionsOf(io, values);
    const types = typesOf(values.type);
    const client = await connectToGateway(io, values);
    const say = (text: string): void => {
      if (!json) io.out.write(`${text}\n`);
    };
    const conclude = (passed: boolean, sentence: string): void => {
      if (!json) writeResult(io.out, passed, sentence);
    };
    const end = (passed: boolean, facts: object): number => {
      if (json) writeJson(io.out, { url: shownUrl(url), ...facts, passed });
      return passed ? EXIT.passed : EXIT.failed;
    };
    const refuse = (proof: SecretProof, words?: FailedProofWords): number => {
      if (!json) describeFailedProof(io, proof, words);
      return end(false, { result: "not_accepted", proof });
    };

    const run = async (): Promise<number> => {
      const before = await readRotation(nextFile, url.href);
      const { secret: next, isNew } = await secretInFile(io, "next-file", nextFile);
      const shownFile = printableLine(nextFile);
      say(`1/5 ${isNew ? "A new secret is" : "The new secret is"} in ${shownFile}`);
      const standing = async (of: RotationState | undefined) => {
        if (of === undefined) return "void";
        const listed = await client.webhooks.list({ signal: io.signal });
        return standingOf(of, next, webhooksAt(url.href, types, listed));
      };
      const found = await standing(before);
      let state = found === "void" ? undefined : before;
      if (state !== undefined && found === "switched") {
        // The watch means nothing if the new secret was lost at the receivers.
        const proof = await proveSecret(url.href, [next], proofOptions);
        if (proof.result !== "accepted") return refuse(proof, SWITCHED);
        say("4/5 The gateway has the new secret since an earlier run");
      } else {
        say(`2/5 Deploy [next, current] to every replica. Waiting up to ${values.wait} s …`);
        if (current === undefined) say("    The current secret is not given, so it is not proven.");
        let isProven = false;
        const result = await rotateSecret(client, {
          ...proofOptions,
          url: url.href,
          next,
          current,
          onSwitch: ({ id, type }) => {
            if (!isProven) say("3/5 Every replica accepts the secrets");
            isProven = true;
            say(`4/5 Giving webhook ${printableLine(id)} (${printableLine(type)}) the new secret`);
          },
        });
        if (result.result === "not_accepted") return refuse(result.proof, state && SWITCHED);
        // Given once more to be sure, it is the same rotation: what was watched still counts.
        state = { ...switchedState(url.href, next, result.webhooks), ...state };
        await writeRotation(nextFile, state);
        // `updated_at` has seconds: a change in the same one could not be seen by the next run.
        await pause(1_000, io.signal);
      }
      if (metrics.length === 0) {
        say("5/5 Keep both secrets at the receivers.");
        writeWarning(json ? io.err : io.out, NOT_PROVEN);
        return end(true, { result: "switched", isNewSeen: false });
      }

      say(`5/5 Watching until the old secret has been quiet for ${values.quiet} s …`);
      const switched: RotationState = state;
      const { result, state: watched } = await watchUntilQuiet(state.watch, {
        urls: metrics,
        newFingerprint: await secretFingerprint(next),
        once,
        timeoutMs,
        signal: io.signal,
        quietMs: values.quiet * 1_000,
        intervalMs: values["look-every"] * 1_000,
        onLook: (watch) => writeRotation(nextFile, { ...switched, watch }),
        onNoMetrics: (at) => {
          const shown = printableLine(shownUrl(readTargetUrl(at)));
          io.err.write(`No gateway_webhook_secret_matches_total at ${shown}\n`);
        },
      });
      // Someone else may have rotated while this one was watching.
      const isUndone = result === "finished" && (await standing(switched)) === "void";
      const ended = isUndone ? "webhook_changed" : result;
      conclude(ended === "finished", SENTENCES[ended]);
      if (ended === "finished") return end(true, { result: ended });
      return end(false, { result: ended, watch: watched });
    };

    const lock = lockFileOf(nextFile, url.href);
    const unlock = await lockRotation(lock);
    if (unlock === undefined) {
      conclude(
        false,
        `Another \`webhooks rotate\` of this URL is running: wait for it, or end it. If none is, delete ${lock}.`,
      );
      return end(false, { result: "already_running" });
    }
    try {
      return await run();
    } finally {
      await unlock();
    }
  },
});

/** What a run without metrics cannot know. */
const NOT_PROVEN =
  "Not proven: that the gateway signs with the new secret. Its answers show no secret, and one that ignores it in an update goes on with the old one: without that, each delivery would be refused. Run this again with --metrics, or remove the old secret when gateway_webhook_secret_matches_total of its index has not moved for 72 hours, and that of index 0 has.";

/** When a run that resumes finds a replica without the new secret. */
const SWITCHED: FailedProofWords = {
  gateway: "The gateway signs with this secret already, so deliveries may be refused now.",
};

const SENTENCES = {
  finished: "The old secret is quiet: remove it from the receivers now.",
  old_secret_in_use:
    "The old secret, or that of another rotation, has not been quiet for long enough. Keep both.",
  no_metrics: "A replica gave no metrics, so the old secret may be in use. Keep both.",
  no_delivery_seen:
    "No delivery with the new secret of this rotation was seen since the switch, so the gateway may not use it. Keep both, and run this again after the next delivery.",
  webhook_changed:
    "A webhook at this URL was changed or added since the switch, so it may have another secret. Keep both, and run this again.",
} as const satisfies Record<WatchResult | "webhook_changed", string>;
