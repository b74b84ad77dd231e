import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ENCODED_SECRET, SECRET, bodyOf, gatewayHeaders } from "../deliveries.js";
import { WrongOutcomeError } from "../rounds.js";
import { githubHeaders, standardHeaders, stripeHeader } from "../schemes.js";
import type { ColdDelivery, ColdStart } from "./delivery.js";

const run = promisify(execFile);
const BODY = bodyOf("1 KB");

interface ColdContender {
  readonly script: URL;
  /** The file of `contenders/` that the script loads. */
  readonly file: string;
  readonly headers: () => Record<string, string>;
  readonly secret: string;
}

const IMPORTING = new URL("./child.js", import.meta.url);
const REQUIRING = new URL("./child-require.cjs", import.meta.url);

function importing(
  file: string,
  headers = (): Record<string, string> => gatewayHeaders(BODY),
  secret = SECRET,
): ColdContender {
  return { script: IMPORTING, file, headers, secret };
}

const CONTENDERS = {
  "ours, import": importing("ours"),
  "ours, require": { ...importing("ours"), script: REQUIRING },
  "ours, bundled": importing("ours-bundled"),
  "ours with zod, import": importing("ours-with-zod"),
  "ours with zod, require": { ...importing("ours-with-zod"), script: REQUIRING },
  "hand-written: verify + JSON.parse": importing("by-hand"),
  "hand-written: + lru-cache + zod": importing("by-hand-full"),
  standardwebhooks: importing(
    "standardwebhooks",
    () => standardHeaders("webhook", BODY),
    ENCODED_SECRET,
  ),
  svix: importing("svix", () => standardHeaders("svix", BODY), ENCODED_SECRET),
  stripe: importing("stripe", () => ({ "stripe-signature": stripeHeader(BODY) })),
  octokit: importing("octokit", () => githubHeaders(BODY)),
} satisfies Record<string, ColdContender>;

/** The name of a contender in the tables. */
export type ColdName = keyof typeof CONTENDERS;

/** All contenders, by their name in the tables. */
export const COLD_NAMES = Object.keys(CONTENDERS) as ColdName[];

/**
 * Starts a fresh process that answers one delivery.
 *
 * @throws WrongOutcomeError if the delivery was not accepted.
 */
export async function startCold(name: ColdName): Promise<ColdStart> {
  const contender = CONTENDERS[name];
  const delivery: ColdDelivery = {
    secret: contender.secret,
    headers: contender.headers(),
    body: BODY.bytes.toString("utf8"),
  };
  // Not by fork: a serverless function has no channel to a parent either.
  const args = [fileURLToPath(contender.script), contender.file, JSON.stringify(delivery)];
  const coldStart = JSON.parse((await run(process.execPath, args)).stdout) as ColdStart;
  if (!coldStart.isGood) throw new WrongOutcomeError(`${name}: its first delivery was refused`);
  return coldStart;
}
