import { WEBHOOK_TYPES } from "../../src/common/gateway-facts.js";
import { HEADERS, isWebhookType } from "../../src/delivery/headers.js";
import { madeUpDeliveryId } from "../../kit/random.js";
import { createSender } from "../../kit/sending/sender.js";
import { secretOf } from "../../kit/signed-delivery.js";
import { createCommand } from "../command.js";
import { DELIVERY_OPTIONS, readContent } from "../send/delivery-source.js";
import { exchange, readingOf, type Exchange } from "../send/exchange.js";
import { EXIT, UsageError } from "../exit.js";
import {
  EXPERIMENT_OPTIONS,
  madeUpSecret,
  prepareDelivery,
  type Prepared,
} from "../send/experiment.js";
import { followRetries } from "../send/follow-retries.js";
import { JSON_OPTION, CONNECTION_OPTIONS } from "../options/shared-options.js";
import { writeJson } from "../terminal/printable.js";
import { readSenderSecret, SECRET_OPTIONS } from "../options/secret-source.js";
import { describeAnswers, describeRequest, DROPPED } from "../send/send-report.js";
import { readTargetUrl, shownUrl } from "../options/target-url.js";
import { flag, text, whole } from "../options/option-specs.js";

/** Sends one signed delivery. */
export const send = createCommand({
  name: "send",
  summary: "signs one delivery as the gateway does and sends it",
  usage: "<url>",
  about: [
    "Sends one signed delivery and shows the request, the status, the outcome and the time. The delivery is made up, unless --fixture or --body names one.",
    "Exits 0 when the delivery is acknowledged (2xx), but not by an HTML page, and not dropped for want of a handler (unhandled). A 2xx that names no outcome of this library passes, but is shown with ~: by whom it is answered is not known. With --times, one request must be acknowledged, and no answer may make the gateway give up. With --tamper, --stale or --wrong-secret the endpoint must refuse the delivery: exits 0 when every request is answered without a 2xx, and with --follow-retries when the last attempt is.",
  ],
  options: {
    ...DELIVERY_OPTIONS,
    id: text("<id>", "X-Webhook-Id. Default: a new made-up id, which begins with 7e57da7a-."),
    times: whole(
      "<n>",
      { min: 1, max: 1_000, fallback: 1 },
      "Sends the delivery this many times, one after the other.",
    ),
    concurrent: flag("With --times, sends them all at the same time."),
    ...EXPERIMENT_OPTIONS,
    "follow-retries": flag(
      "Retries as the gateway does, with its waits, up to 10 attempts, until the delivery is acknowledged or given up.",
    ),
    speed: whole(
      "<factor>",
      { min: 1, max: 1_000_000, fallback: 1_000 },
      "How many times faster than the gateway --follow-retries waits.",
    ),
    "show-body": flag("Also shows the body."),
    ...CONNECTION_OPTIONS,
    ...SECRET_OPTIONS,
    json: JSON_OPTION,
  },
  examples: {
    "An alarm about a leaked e-mail address": "send http://127.0.0.1:3000/webhooks/gateway",
    "An Online Data event": "send http://127.0.0.1:3000/webhooks/gateway --event DATA_REAPPEARED",
    "Five times at once: the endpoint must handle it once":
      "send http://127.0.0.1:3000/webhooks/gateway --times 5 --concurrent",
    "A stale delivery: the endpoint must refuse it":
      "send http://127.0.0.1:3000/webhooks/gateway --stale 600",
    "All retries of the gateway, 6 h 40 min in 24 s":
      "send http://127.0.0.1:3000/webhooks/gateway --follow-retries --speed 1000",
  },
  async run(io, values, [given = ""]) {
    const url = readTargetUrl(given);
    const content = await readContent(io, values);
    const { type } = content;
    const types = isWebhookType(type) ? [type] : WEBHOOK_TYPES;
    const secret = values["wrong-secret"]
      ? madeUpSecret()
      : secretOf(await readSenderSecret(io, values, types), type);
    const id = idOf(values.id);
    const { times, concurrent, timeout, insecure, json } = values;
    if (values["show-body"] && (json || values["follow-retries"])) {
      throw new UsageError("--show-body cannot be used with --json or --follow-retries");
    }
    if (values["follow-retries"]) {
      if (values.tamper || values.stale !== undefined) {
        throw new UsageError(
          "--follow-retries signs each attempt again: leave out --tamper and --stale",
        );
      }
      return followRetries(io, values, url, secret, content, id);
    }

    const prepared = await prepareDelivery(content, secret, id, values);
    const sender = createSender(url, { timeoutMs: timeout, skipTlsVerification: insecure });
    const answers: Exchange[] = [];
    try {
      const sendOne = () => exchange(sender, prepared.request, io.signal);
      if (concurrent) answers.push(...(await Promise.all(Array.from({ length: times }, sendOne))));
      else while (answers.length < times) answers.push(await sendOne());
    } finally {
      sender.close();
    }
    const passed = hasPassed(prepared, answers);
    if (json) {
      writeJson(io.out, {
        url: shownUrl(url),
        delivery: {
          id,
          type,
          timestamp: prepared.timestamp,
          bytes: prepared.request.body.length,
        },
        experiments: prepared.experiments,
        answers: answers.map((answer) => ({ ...answer, gateway: readingOf(answer.status) })),
        passed,
      });
    } else {
      describeRequest(io.out, url, prepared, values["show-body"]);
      describeAnswers(io.out, prepared, answers, passed);
    }
    return passed ? EXIT.passed : EXIT.failed;
  },
});

function idOf(given: string | undefined): string {
  if (given === undefined) return madeUpDeliveryId();
  if (HEADERS.id.fits(given)) return given;
  throw new UsageError(`--id must be ${HEADERS.id.grammar}`);
}

function hasPassed({ experiments }: Prepared, answers: readonly Exchange[]): boolean {
  const readings = answers.map(({ status }) => readingOf(status));
  if (experiments.length > 0) {
    return answers.every(
      ({ status }) => status !== undefined && readingOf(status) !== "acknowledged",
    );
  }
  const isLost =
    readings.some((reading) => reading === "final" || reading === "unlisted") ||
    answers.some(({ outcome, answeredBy }) => outcome === DROPPED || answeredBy === "page");
  return readings.includes("acknowledged") && !isLost;
}
