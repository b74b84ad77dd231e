import type { AttemptHistory } from "../../src/management/attempted-deliveries.js";
import { checkWebhooks, type WebhookCheck } from "../../src/management/check-webhooks.js";
import { createCommand } from "../command.js";
import { EXIT, UsageError } from "../exit.js";
import { SECRET_OPTIONS } from "../options/secret-source.js";
import { JSON_OPTION, typesOf } from "../options/shared-options.js";
import { readTargetUrl, shownUrl } from "../options/target-url.js";
import type { CommandIo } from "../terminal/command-io.js";
import { counted, joined, writeJson } from "../terminal/printable.js";
import { ATTEMPT_OPTIONS, attemptReaderOf } from "./attempt-fields.js";
import { connectToGateway, GATEWAY_OPTIONS } from "./gateway-connection.js";
import { readCurrentSecret } from "./private-file.js";
import { TYPE_OPTION } from "./proof-options.js";
import { answerText, utc, writeFindings, writeResult, writeRows } from "./report-lines.js";
import { loadUserModule } from "./user-module.js";

/** Checks that deliveries can arrive. */
export const check = createCommand({
  name: "webhooks check",
  summary: "checks that deliveries can arrive, and changes nothing",
  usage: "<url>",
  about: [
    "Checks that each type has exactly one active webhook, at your URL, with a secret, TLS verified and history on, and that the receiver answers there and accepts your secret. The probes run nothing at the receiver, which counts one of them as a signature mismatch. Fit for a cron job, each 15 minutes or more.",
    "With --fields, or readAttempt of --module, it also reads the stored attempts: it finds deliveries that are refused now, and says when the latest one was.",
    "Exits 0 when nothing is wrong, 1 if something is, 4 if the gateway could not be asked. Without a secret it only checks that something answers a GET.",
  ],
  options: {
    type: TYPE_OPTION,
    ...ATTEMPT_OPTIONS,
    ...GATEWAY_OPTIONS,
    ...SECRET_OPTIONS,
    json: JSON_OPTION,
  },
  examples: {
    "Both types": "webhooks check https://partner.example/webhooks --secret-file secret.txt",
    "With the stored attempts": `webhooks check https://partner.example/webhooks --secret-file secret.txt \\
    --fields deliveryId=delivery_id,status=status,at=created_at`,
  },
  async run(io, values, [given = ""]) {
    const url = readTargetUrl(given);
    const types = typesOf(values.type);
    const secret = await readCurrentSecret(io, values);
    const user = await loadUserModule(values.module);
    const readAttempt = attemptReaderOf(values.fields, user);
    const client = await connectToGateway(io, values, user.nextPage);
    const { timeout: timeoutMs, json } = values;
    const { signal } = io;
    const options = { url: url.href, types, secret, readAttempt, timeoutMs, signal };
    const result = await checkWebhooks(client, options);
    const { findings, histories } = result;
    if (histories.some(({ attempts, latestAt }) => attempts > 0 && latestAt === undefined)) {
      throw new UsageError(
        "--fields reads no attempt of a webhook that has some: run `webhooks history --shape`",
      );
    }
    const passed = findings.length === 0;
    const checkedSecret = secret !== undefined;
    if (json) writeJson(io.out, { url: shownUrl(url), findings, histories, checkedSecret, passed });
    else describe(io, result, checkedSecret);
    return passed ? EXIT.passed : EXIT.failed;
  },
});

function describe(
  { out }: CommandIo,
  { findings, histories }: WebhookCheck,
  checkedSecret: boolean,
): void {
  writeFindings(out, findings);
  for (const one of histories) writeRows(out, [["history", historyText(one)]]);
  const passed = findings.length === 0;
  const about = checkedSecret
    ? ""
    : " The secret was not checked: none was given. So by whom the URL is answered is not known either: a proxy answers a GET too.";
  const result = passed ? "Nothing is wrong." : `${counted(findings.length, "finding")}.`;
  writeResult(out, passed && !checkedSecret ? "unseen" : passed, `${result}${about}`);
}

function historyText({ type, latestAt, latestStatus, unreadable }: AttemptHistory): string {
  if (latestAt === undefined) return `${type}: no attempt is stored`;
  const days = Math.floor((Date.now() - latestAt.getTime()) / DAY_MS);
  return joined([
    `${type}: the latest attempt was at ${utc(latestAt)}`,
    answerText(latestStatus),
    days > 0 && `none for ${counted(days, "day")}`,
    unreadable > 0 && `${counted(unreadable, "attempt")} cannot be read`,
  ]);
}

const DAY_MS = 86_400_000;
