import { createWebhookSecret } from "../../src/management/probe-receiver.js";
import { registerWebhooks, type RegisterResult } from "../../src/management/register-webhooks.js";
import { createCommand } from "../command.js";
import { EXIT, UsageError } from "../exit.js";
import { typedValue } from "../options/secret-source.js";
import { JSON_OPTION } from "../options/shared-options.js";
import { readTargetUrl, shownUrl } from "../options/target-url.js";
import type { CommandIo } from "../terminal/command-io.js";
import { printableLine, writeJson } from "../terminal/printable.js";
import { connectToGateway, GATEWAY_OPTIONS } from "./gateway-connection.js";
import { ONE_TYPE, secretInFile } from "./private-file.js";
import {
  describeFailedProof,
  PROOF_OPTIONS,
  proofOptionsOf,
  TYPE_OPTION,
} from "./proof-options.js";
import { answerText, writeFindings, writeResult, writeRows } from "./report-lines.js";
import { text } from "../options/option-specs.js";

/** Registers a receiver at the gateway. */
export const register = createCommand({
  name: "webhooks register",
  summary: "registers a receiver at the gateway, with a new secret",
  usage: "<url>",
  about: [
    "Makes a secret of 32 random bytes, waits until the receiver at the URL accepts it, and creates one webhook per type: active, signed, TLS verified, history on. Deploy the secret while it waits.",
    "It can be repeated: pass the same --secret-file again. A type that the URL already has is left as it is.",
    "Exits 0 when each type has a webhook that this command created, and `webhooks check` would find nothing wrong with it; 1 if not.",
  ],
  options: {
    "secret-file": text(
      "<file>",
      "Where to write the new secret, readable by you alone. If the file is there, its secret is used. Without it the secret is shown once.",
    ),
    type: TYPE_OPTION,
    title: text("<text>", "The label of the webhooks."),
    ...PROOF_OPTIONS,
    ...GATEWAY_OPTIONS,
    json: JSON_OPTION,
  },
  examples: {
    "A receiver for both types":
      "webhooks register https://partner.example/webhooks --secret-file secret.txt",
  },
  async run(io, values, [given = ""]) {
    const url = readTargetUrl(given);
    const { title, json } = values;
    const file = values["secret-file"];
    const [type] = typedValue(file ?? "");
    if (type !== undefined) throw new UsageError(`${ONE_TYPE} ${type} --secret-file <file>`);
    if (json && file === undefined) {
      throw new UsageError("--json needs --secret-file: the secret is not put into the result");
    }
    const proofOptions = proofOptionsOf(io, values);
    const client = await connectToGateway(io, values);
    const filed = file === undefined ? undefined : await secretInFile(io, "secret-file", file);
    const secret = filed?.secret ?? createWebhookSecret();
    let isAnnounced = json;
    const result = await registerWebhooks(client, {
      ...proofOptions,
      url: url.href,
      secret,
      // Not before it is needed: with nothing to create, the secret must not be deployed.
      onProbe: () => {
        if (!isAnnounced) announce(io, secret, file, filed?.isNew ?? true);
        isAnnounced = true;
      },
      title: title === undefined ? undefined : () => title,
    });
    const passed =
      result.result === "registered" &&
      result.existing.length === 0 &&
      result.findings.length === 0;
    if (json) writeJson(io.out, { url: shownUrl(url), ...shownResult(result), passed });
    else describe(io, result, file !== undefined);
    return passed ? EXIT.passed : EXIT.failed;
  },
});

function announce({ out }: CommandIo, secret: string, file: string | undefined, isNew: boolean) {
  const where =
    file === undefined
      ? `The new secret, which is not shown again:\n  ${secret}\n`
      : `${isNew ? "A new secret is" : "The secret is"} in ${printableLine(file)}.\n`;
  out.write(`${where}Deploy it to the receiver now. Waiting until it accepts it …\n`);
}

/** Without a file each run makes another secret. */
const WITH_FILE = "save it in a file and run this again with --secret-file <file>";

function describe(io: CommandIo, result: RegisterResult, isFiled: boolean): void {
  const { out } = io;
  switch (result.result) {
    case "secret_not_accepted":
      describeFailedProof(io, result.proof, isFiled ? {} : { again: WITH_FILE });
      return;
    case "unreachable": {
      const found = answerText(result.status);
      writeResult(out, false, `The URL does not answer a GET with 2xx: ${found}.`);
      const fix =
        "The gateway requires a reachable URL. Start the receiver and route GET to it, then run this again.";
      writeRows(out, [["fix", fix]]);
      return;
    }
    case "registered":
      for (const { id, type } of result.created) {
        writeResult(out, true, `created webhook ${printableLine(id)} for ${type}`);
      }
      for (const { id, type } of result.existing) {
        const text = `webhook ${printableLine(id)} for ${type} was there before; its secret is not known`;
        writeResult(out, false, text);
        const fix = "Run `webhooks rotate`, which gives it a new secret.";
        writeRows(out, [["fix", fix]]);
      }
      writeFindings(out, result.findings);
  }
}

function shownResult(result: RegisterResult): object {
  if (result.result !== "registered") return result;
  const shown = (webhooks: typeof result.created) => webhooks.map(({ id, type }) => ({ id, type }));
  return { ...result, created: shown(result.created), existing: shown(result.existing) };
}
