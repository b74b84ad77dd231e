import { checkWebhooks } from "../../src/management/check-webhooks.js";
import type { WebhookFinding } from "../../src/management/webhook-findings.js";
import { createCommand } from "../command.js";
import { EXIT } from "../exit.js";
import { SECRET_OPTIONS } from "../options/secret-source.js";
import { JSON_OPTION, typesOf } from "../options/shared-options.js";
import { readTargetUrl, shownUrl } from "../options/target-url.js";
import type { CommandIo } from "../terminal/command-io.js";
import { counted, writeJson } from "../terminal/printable.js";
import { connectToGateway, GATEWAY_OPTIONS } from "./gateway-connection.js";
import { readCurrentSecret } from "./private-file.js";
import { TYPE_OPTION } from "./proof-options.js";
import { writeFindings, writeResult } from "./report-lines.js";

/** Checks that deliveries can arrive. */
export const check = createCommand({
  name: "webhooks check",
  summary: "checks that deliveries can arrive, and changes nothing",
  usage: "<url>",
  about: [
    "Checks that each type has exactly one active webhook, at your URL, with a secret, TLS verified and history on, and that the receiver answers there and accepts your secret. The probes run nothing at the receiver, which counts one of them as a signature mismatch. Fit for a cron job, each 15 minutes or more.",
    "Exits 0 when nothing is wrong, 1 if something is. Without a secret it only checks that something answers a GET.",
  ],
  options: {
    type: TYPE_OPTION,
    ...GATEWAY_OPTIONS,
    ...SECRET_OPTIONS,
    json: JSON_OPTION,
  },
  examples: {
    "Both types": "webhooks check https://partner.example/webhooks --secret-file secret.txt",
  },
  async run(io, values, [given = ""]) {
    const url = readTargetUrl(given);
    const types = typesOf(values.type);
    const secret = await readCurrentSecret(io, values);
    const client = await connectToGateway(io, values);
    const { timeout: timeoutMs, json } = values;
    const { signal } = io;
    const options = { url: url.href, types, secret, timeoutMs, signal };
    const { findings } = await checkWebhooks(client, options);
    const passed = findings.length === 0;
    const checkedSecret = secret !== undefined;
    if (json) writeJson(io.out, { url: shownUrl(url), findings, checkedSecret, passed });
    else describe(io, findings, checkedSecret);
    return passed ? EXIT.passed : EXIT.failed;
  },
});

function describe(
  { out }: CommandIo,
  findings: readonly WebhookFinding[],
  checkedSecret: boolean,
): void {
  writeFindings(out, findings);
  const passed = findings.length === 0;
  const about = checkedSecret
    ? ""
    : " The secret was not checked: none was given. So by whom the URL is answered is not known either: a proxy answers a GET too.";
  const result = passed ? "Nothing is wrong." : `${counted(findings.length, "finding")}.`;
  writeResult(out, passed && !checkedSecret ? "unseen" : passed, `${result}${about}`);
}
