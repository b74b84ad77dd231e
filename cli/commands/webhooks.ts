import {
  ManagementError,
  type ManagementErrorCode,
} from "../../src/management/management-error.js";
import type { Command } from "../command.js";
import { EXIT, UsageError } from "../exit.js";
import { PROGRAM, columnsOf, exampleOf } from "../help-text.js";
import { hintOf } from "../options/nearest-name.js";
import { printableLine, writeJson } from "../terminal/printable.js";
import { wrap } from "../terminal/wrap.js";
import { check } from "../webhooks/check.js";
import { history } from "../webhooks/history.js";
import { reconcile } from "../webhooks/reconcile.js";
import { register } from "../webhooks/register.js";
import { rotate } from "../webhooks/rotate.js";

/** Their names begin with the name of the group. */
const COMMANDS: readonly Command[] = [register, check, rotate, history, reconcile];

const shortNameOf = ({ name }: Command): string => name.slice("webhooks ".length);

function commandOf(word: string): Command {
  const command = COMMANDS.find((one) => shortNameOf(one) === word);
  if (command !== undefined) return command;
  const names = COMMANDS.map(shortNameOf);
  const hint = word.startsWith("-") ? "" : hintOf(word, names);
  throw new UsageError(`webhooks needs a command: ${names.join(", ")}${hint}`);
}

/** Commands that only read: without an answer they know nothing. The others may have changed something. */
const READING: readonly Command[] = [check, history, reconcile];

/** What the gateway has answered to this, with a reason. After any other error it could not be asked. */
const ANSWERED: readonly ManagementErrorCode[] = ["not_found", "conflict", "validation_failed"];

/**
 * The other half of a webhook: its registration at the gateway. The first argument names the command. A
 * `ManagementError` of it is a failure and no bug.
 */
export const webhooks: Command = {
  name: "webhooks",
  summary: "registers, checks, rotates and reconciles webhooks at the gateway",
  help({ style, columns = 80 }) {
    const rows = COMMANDS.map((one) => [shortNameOf(one), one.summary] as const);
    const about =
      "The gateway's address and a CRM token are in GATEWAY_BASE_URL and GATEWAY_CRM_TOKEN, or in the options --base-url, --token-file and --login-file.";
    return [
      style("bold", `${PROGRAM} webhooks`),
      ...wrap(webhooks.summary, columns),
      "",
      `Usage: ${PROGRAM} webhooks <command> [options]`,
      "",
      ...columnsOf(rows, columns),
      "",
      ...wrap(about, columns),
      "",
      style("bold", "Examples"),
      ...exampleOf(
        "webhooks check https://partner.example/webhooks --secret-file secret.txt",
        columns,
      ),
      "",
    ].join("\n");
  },
  commandOf,
  async start(io, [first = "", ...rest]) {
    if (["--help", "-h", "help"].includes(first)) {
      const word = first === "help" ? rest[0] : undefined;
      io.out.write((word === undefined ? webhooks : commandOf(word)).help(io.out));
      return EXIT.passed;
    }
    const command = commandOf(first);
    try {
      return await command.start(io, rest);
    } catch (error) {
      if (!(error instanceof ManagementError)) throw error;
      io.signal.throwIfAborted();
      const { code, message, status = null } = error;
      if (rest.includes("--json")) writeJson(io.out, { error: { code, message, status } });
      const shown = printableLine(message, 1_000);
      io.err.write(`${io.err.style("red", command.name)}: ${shown} (${code})\n`);
      const isAnswered = ANSWERED.includes(code) || !READING.includes(command);
      return isAnswered ? EXIT.failed : EXIT.notAnswered;
    }
  },
};
