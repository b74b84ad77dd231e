import { GatewayWebhookError } from "../../src/common/errors.js";
import type { DeadDeliveries, DeadDelivery } from "../../src/inbox/dead-deliveries.js";
import type { InboxOverflow } from "../../src/inbox/overflow.js";
import { createCommand } from "../command.js";
import { EXIT, UsageError } from "../exit.js";
import { flag, text, whole } from "../options/option-specs.js";
import { accountIdsOf, JSON_OPTION } from "../options/shared-options.js";
import { resultLine, type CommandIo } from "../terminal/command-io.js";
import { counted, joined, printableLine, writeJson } from "../terminal/printable.js";
import { renderTable } from "../terminal/table.js";
import { utc } from "../webhooks/report-lines.js";
import { loadUserModule, reasonOf, type UserModule } from "../webhooks/user-module.js";

const ACTIONS = ["list", "replay", "discard"] as const;

/** The dead jobs of a queue. */
export const jobs = createCommand({
  name: "jobs",
  summary: "lists, replays and discards the dead jobs of your queue",
  usage: "list|replay|discard [ids…]",
  positionals: { min: 1, max: 10_001 },
  about: [
    "A dead job is a delivery whose handler failed at every attempt. The gateway was answered 200, so it does not send it again. Fix the cause, then replay it: it runs again at a worker, with all its attempts.",
    "--module is a file of yours that exports `driver`, the queue driver of your receiver, and starts no server. If your inbox has an overflow, it exports `overflow` too: discard also removes the bodies there.",
    "Exits 0 when each job that you name was replayed or discarded, 1 otherwise. Shows no body.",
  ],
  options: {
    module: text("<file>", "The file that exports driver. Required."),
    all: flag("With replay: all that are dead now, the oldest first."),
    max: whole(
      "<n>",
      { min: 1, max: 1_000_000_000 },
      "With replay: at most so many. Try one, and see what becomes of it.",
    ),
    "account-id": text("<id>", "With discard: all dead jobs of this account."),
    yes: flag("With discard: confirms it. What is discarded cannot be replayed."),
    limit: whole("<n>", { min: 1, max: 1_000, fallback: 100 }, "With list: at most so many."),
    offset: whole(
      "<n>",
      { min: 0, max: 1_000_000_000, fallback: 0 },
      "With list: how many to skip.",
    ),
    json: JSON_OPTION,
  },
  examples: {
    "What is dead": "jobs list --module ./queue.mjs",
    "The oldest one again, to see whether the cause is fixed":
      "jobs replay --all --max 1 --module ./queue.mjs",
    "One that needs no handling any more":
      "jobs discard 3f2504e0-4f89-41d3-9a0c-0305e82c3301 --yes --module ./queue.mjs",
  },
  async run(io, values, [word = "", ...ids]) {
    const action = ACTIONS.find((one) => one === word);
    if (action === undefined) throw new UsageError(`the first word is ${ACTIONS.join(", ")}`);
    const { all, max, limit, offset, json } = values;
    const [accountId] = accountIdsOf([values["account-id"] ?? []].flat());
    const hasOther = { list: true, replay: all, discard: accountId !== undefined }[action];
    if (ids.length > 0 === hasOther) {
      const other = { list: "no ids", replay: "ids, or --all", discard: "ids, or --account-id" };
      throw new UsageError(`${action} takes ${other[action]}`);
    }
    if (action === "discard" && !values.yes) {
      throw new UsageError("discard gives deliveries up for good: add --yes to confirm");
    }
    const user = await loadUserModule(values.module);
    const driver = driverOf(user, action);
    try {
      if (action === "list") {
        const dead = await inTime(driver.list({ limit, offset }));
        if (dead === undefined) {
          const why = `the queue did not answer within ${ANSWER_MS / 1_000} s: is its server up?`;
          io.err.write(`${io.err.style("red", "jobs")}: ${why}\n`);
          return EXIT.failed;
        }
        if (json) writeJson(io.out, { dead });
        else describe(io, dead);
        return EXIT.passed;
      }
      const { notFound, ...done } =
        action === "replay"
          ? await driver.replay(all ? "all" : ids, max === undefined ? {} : { max })
          : await driver.discard(accountId === undefined ? ids : { accountId }, overflowOf(user));
      const passed = notFound.length === 0;
      if (json) writeJson(io.out, { ...done, notFound, passed });
      else {
        const counts = Object.entries(done).map(([name, { length }]) => `${length} ${name}`);
        const missing = !passed && `not dead: ${printableLine(notFound.join(", "), 1_000)}`;
        io.out.write(`${resultLine(io.out, passed, joined([...counts, missing]))}\n`);
      }
      return passed ? EXIT.passed : EXIT.failed;
    } catch (error) {
      // Only ours are known to hold no part of a body.
      const isOurs = error instanceof GatewayWebhookError;
      const why = isOurs ? `${error.message} (${error.code})` : reasonOf(error);
      io.err.write(`${io.err.style("red", "jobs")}: ${printableLine(why, 4_000)}\n`);
      return EXIT.failed;
    }
  },
});

/** A client whose server is away may try for ever. */
const ANSWER_MS = 30_000;

/** What comes in time; undefined if nothing does. */
async function inTime<T>(work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ANSWER_MS, undefined);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The driver that the module exports. Throws `UsageError` if it cannot do this. */
function driverOf({ driver }: UserModule, action: (typeof ACTIONS)[number]): DeadDeliveries {
  if (driver === undefined)
    throw new UsageError(
      "--module <file> is required: a file that exports driver, the queue driver of your receiver",
    );
  if (typeof driver[action] === "function") return driver as DeadDeliveries;
  throw new UsageError(
    `the driver of --module has no ${action}: use the means of its engine, such as the redrive of SQS`,
  );
}

function overflowOf({ overflow }: UserModule): { readonly overflow?: InboxOverflow } {
  return overflow === undefined ? {} : { overflow };
}

function describe({ out }: CommandIo, dead: readonly DeadDelivery[]): void {
  const columns = [
    { title: "Delivery" },
    { title: "Type" },
    { title: "Attempts", align: "right" },
    { title: "Failed" },
    { title: "Error", isFlexible: true },
  ] as const;
  const rows = dead.map(({ id, type = "–", attempts, failedAt, error }) => [
    printableLine(id, 140),
    printableLine(type, 60),
    String(attempts),
    utc(failedAt),
    printableLine(error, 200),
  ]);
  if (rows.length > 0) out.write(`${renderTable(columns, rows, out).join("\n")}\n\n`);
  out.write(`${counted(dead.length, "dead job")}\n`);
}
