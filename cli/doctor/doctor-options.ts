import { WEBHOOK_TYPES } from "../../src/common/gateway-facts.js";
import {
  CONFORMANCE_GROUPS,
  type ConformanceCase,
} from "../../kit/conformance/conformance-case.js";
import {
  CONCURRENCY,
  HANDLED_WITHIN_MS,
  RECORD_TYPES,
  type ConformanceOptions,
  type OptionNames,
} from "../../kit/conformance/conformance-options.js";
import { conformanceCases } from "../../kit/conformance/receiver-conformance.js";
import type { SenderOptions } from "../../kit/sending/target.js";
import { UsageError } from "../exit.js";
import { nearestNames } from "../options/nearest-name.js";
import { flag, list, text, whole, type OptionSpecs, type Values } from "../options/option-specs.js";
import { readSenderSecret, SECRET_OPTIONS } from "../options/secret-source.js";
import {
  ACCOUNT_OPTION,
  accountIdsOf,
  CONNECTION_OPTIONS,
  JSON_OPTION,
  MAX_BODY_OPTION,
  typesOf,
} from "../options/shared-options.js";
import { readTargetUrl } from "../options/target-url.js";
import type { CommandIo } from "../terminal/command-io.js";
import { printableLine } from "../terminal/printable.js";
import { createHandledProbe, isLocal, readHandlerSwitch } from "./probes.js";

/** The options of `doctor`. */
export const DOCTOR_OPTIONS = {
  yes: flag("Allows sending to another machine."),
  handled: text(
    "<url>",
    "A URL with {id} that answers with a number: how often the delivery with that id was handled (0 if not at all). It reveals deliveries that were handled twice or lost behind a 200.",
  ),
  "handled-within": whole(
    "<ms>",
    HANDLED_WITHIN_MS,
    "How long to wait until --handled counts an acknowledged delivery. Raise it for a queue that takes longer. Milliseconds.",
  ),
  "while-failing-on": text(
    "<url>",
    "A URL of yours that makes the handler fail. doctor sends POST to it, and expects 2xx.",
  ),
  "while-failing-off": text("<url>", "A URL of yours that lets the handler succeed again."),
  "while-slow-on": text(
    "<url>",
    "A URL of yours that makes the handler slower than the endpoint waits for it. With both switches on it must be slow first, then fail.",
  ),
  "while-slow-off": text(
    "<url>",
    "A URL of yours that makes it fast again, and answers when the slow handlers have finished.",
  ),
  type: list(
    "<type>",
    `A webhook type that the endpoint is registered for. Default: both, ${WEBHOOK_TYPES.join(", ")}.`,
  ),
  "account-id": ACCOUNT_OPTION,
  "left-out": list(
    "<type>",
    "An event_type of alarms, or a type of events, for which the handler does nothing on purpose. May be repeated.",
  ),
  "max-body-bytes": MAX_BODY_OPTION,
  only: list("<id>", "Runs only this case. May be repeated."),
  skip: list("<id>", "Skips this case. May be repeated."),
  group: list(
    "<group>",
    `Runs only this group. May be repeated. The groups are ${CONFORMANCE_GROUPS.join(", ")}.`,
  ),
  concurrency: whole(
    "<n>",
    { ...CONCURRENCY, fallback: 4 },
    "How many cases run at the same time, except those that must run alone, and how many requests each of them sends at once. 1 for an endpoint that answers one request at a time.",
  ),
  "failed-only": flag(
    "Shows only the cases that failed. So it is on a terminal when one fails, without --all.",
  ),
  all: flag("Shows every case, also on a terminal."),
  strict: flag("Also exits 1 when a case that should pass fails."),
  "require-judged": flag(
    "Also exits 1 when a case is not judged. For CI, with --handled, --while-failing-… and --while-slow-….",
  ),
  redirects: flag(
    "Follows a redirect of the URL as many senders do, with a GET without the body, and says what a delivery is answered then.",
  ),
  junit: text("<file>", "Also writes a JUnit report, however the run ends."),
  ...CONNECTION_OPTIONS,
  ...SECRET_OPTIONS,
  json: JSON_OPTION,
} as const satisfies OptionSpecs;

/** The values of `DOCTOR_OPTIONS`. */
export type DoctorValues = Values<typeof DOCTOR_OPTIONS>;

/** What the texts of the cases call the options of the suite. */
export const CLI_NAMES: OptionNames = {
  types: "--type",
  leftOut: "--left-out",
  handled: "--handled",
  handledWithinMs: "--handled-within",
  whileFailing: "--while-failing-on and --while-failing-off",
  whileSlow: "--while-slow-on and --while-slow-off",
};

/** What a run of `doctor` does: the endpoint that it tests, and what deliveries to it need. */
export type DoctorPlan = Awaited<ReturnType<typeof readPlan>>;

/** Reads the options. Throws `UsageError` for one that cannot work. */
export async function readPlan(io: CommandIo, values: DoctorValues, given: string) {
  const url = readTargetUrl(given);
  const connection: SenderOptions = {
    timeoutMs: values.timeout,
    skipTlsVerification: values.insecure,
  };
  const failing = readHandlerSwitch("while-failing", values, connection);
  const slow = readHandlerSwitch("while-slow", values, connection);
  const switches = [failing, slow].flatMap((one) => one ?? []);
  const urls = [url, ...switches.flatMap((one) => [one.urls.on, one.urls.off])];
  const { handled } = values;
  if (!values.yes && !isLocal(urls, handled)) {
    throw new UsageError(
      "this would send made-up deliveries to another machine, which may act on them: add --yes to allow it",
    );
  }
  checkNames(values["left-out"], RECORD_TYPES, "record type");
  const types = typesOf(values.type);
  const endpoint = {
    secret: await readSenderSecret(io, values, types),
    types,
    accountIds: accountIdsOf(values["account-id"]),
    leftOut: values["left-out"],
  };
  const options: ConformanceOptions = {
    ...endpoint,
    ...connection,
    target: url,
    handled: handled === undefined ? undefined : createHandledProbe(handled, connection),
    handledWithinMs: values["handled-within"],
    whileFailing: failing?.during,
    whileSlow: slow?.during,
    maxBodyBytes: values["max-body-bytes"],
    requestsAtOnce: values.concurrency,
  };
  return {
    ...endpoint,
    url,
    connection,
    values,
    cases: chosenCases(conformanceCases(options, CLI_NAMES), values),
    /** Lets the handler work again when the run ends early. */
    async restoreHandler() {
      for (const one of switches) await one.restore();
    },
  };
}

function chosenCases(
  cases: readonly ConformanceCase[],
  { only, skip, group: groups }: DoctorValues,
): readonly ConformanceCase[] {
  const ids = cases.map(({ id }) => id);
  checkNames([...only, ...skip], ids, "case");
  checkNames(groups, CONFORMANCE_GROUPS, "group");
  const left = cases.filter(
    ({ id, group }) =>
      (only.length === 0 || only.includes(id)) &&
      (groups.length === 0 || groups.includes(group)) &&
      !skip.includes(id),
  );
  if (left.length === 0) throw new UsageError("--only, --group and --skip leave no case");
  return left;
}

function checkNames(given: readonly string[], known: readonly string[], what: string): void {
  const unknown = given.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new UsageError(
    `there is no ${what} ${printableLine(unknown, 60)}; the nearest are ${nearestNames(unknown, known).join(", ")}`,
  );
}
