import { randomUUID } from "node:crypto";
import { ConfigurationError } from "../configuration-error.js";
import { refuseUnknownOptions } from "../known-options.js";
import type { MaybePromise } from "../maybe-promise.js";
import { keyOf } from "../secrets.js";
import type { Fixture } from "./fixture.js";
import {
  reportOf,
  resultOf,
  type Exchange,
  type ReplayReport,
  type ReplayResult,
} from "./replay-report.js";
import { resignedHeaders } from "./resign.js";
import { createSender } from "./sender.js";
import type { Sender, SenderOptions, Target } from "./target.js";
import { TEST_SECRET } from "./test-secret.js";
import { linesOf } from "./wire.js";

/** Options of `replayFixtures`, beside those of how it sends. */
export interface ReplayOptions extends SenderOptions {
  /** The secret that the target verifies with. Required with `resign`, and read only then. */
  readonly secret?: string | undefined;
  /**
   * False, the default: every fixture is sent as it was recorded, so that the target has to have the
   * fixtures' secret and a clock that shows their `receivedAt`. True: each is signed anew with `secret`
   * for the time that `now` gives, less the age it had when it was received; one whose signature is not
   * good, which is there to be refused, is sent as it was recorded.
   */
  readonly resign?: boolean | undefined;
  /** The target's clock, in milliseconds. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
  /** The secret that the fixtures are signed with. Default the one of the published fixtures. */
  readonly fixtureSecret?: string | undefined;
  /**
   * Gives each id that is signed anew a random UUID in its place, so that one target can be sent the same
   * fixtures again without having seen them; fixtures that share an id still do. Needs `resign`. Default
   * false.
   */
  readonly freshIds?: boolean | undefined;
  /** Called and awaited before each fixture is sent. What it throws ends the replay. */
  readonly beforeEach?: ((fixture: Fixture) => MaybePromise<unknown>) | undefined;
  /** Called with each result as it comes. What it throws ends the replay. */
  readonly onResult?: ((result: ReplayResult) => void) | undefined;
}

const OPTIONS = [
  "secret",
  "resign",
  "now",
  "fixtureSecret",
  "freshIds",
  "beforeEach",
  "onResult",
  "timeoutMs",
  "skipTlsVerification",
];

/** Headers of a connection and not of a delivery: the connection of the replay has its own. */
const CONNECTION_HEADERS = new Set([
  "connection",
  "content-length",
  "host",
  "keep-alive",
  "te",
  "transfer-encoding",
  "upgrade",
]);

/**
 * Sends fixtures to a target, one after the other, and compares what is answered with what they expect.
 * To an endpoint that runs, sign them anew:
 *
 * ```ts
 * const fixtures = await loadFixtures("test/fixtures");
 * const report = await replayFixtures("http://localhost:3000/webhooks/gateway", fixtures, {
 *   secret: process.env.GATEWAY_WEBHOOK_SECRET,
 *   resign: true,
 * });
 * ```
 *
 * To a receiver in a test, sent as they were recorded, byte for byte, at the time of its clock:
 *
 * ```ts
 * let nowMs = 0;
 * const receiver = createWebhookReceiver({ secret: TEST_SECRET, handlers, now: () => nowMs });
 * const { different } = await replayFixtures(receiver, fixtures, {
 *   beforeEach: ({ receivedAt }) => {
 *     nowMs = receivedAt.getTime();
 *   },
 * });
 * ```
 *
 * The status is compared with each expectation, and the outcome where both name one. A fixture without
 * an expectation is reported and not judged. A target that fails or does not answer is a result too.
 *
 * Rejects with a `ConfigurationError` for an option that cannot work.
 */
export async function replayFixtures(
  target: Target,
  fixtures: readonly Fixture[],
  options: ReplayOptions = {},
): Promise<ReplayReport> {
  refuseUnknownOptions(options, OPTIONS);
  const { timeoutMs, skipTlsVerification, beforeEach, onResult, now } = options;
  for (const [name, given] of Object.entries({ beforeEach, onResult, now })) {
    if (given === undefined || typeof given === "function") continue;
    throw new ConfigurationError("invalid_option", `${name} has to be a function`);
  }
  const headersOf = createHeadersOf(options);
  const sender = createSender(target, { timeoutMs, skipTlsVerification });
  const results: ReplayResult[] = [];
  try {
    for (const fixture of fixtures) {
      await beforeEach?.(fixture);
      const result = resultOf(fixture, await exchange(sender, fixture, headersOf));
      results.push(result);
      onResult?.(result);
    }
  } finally {
    sender.close();
  }
  return reportOf(results);
}

type HeadersOf = (fixture: Fixture) => MaybePromise<Fixture["headers"]>;

function createHeadersOf(options: ReplayOptions): HeadersOf {
  const { secret, resign = false, freshIds = false, now = Date.now } = options;
  const { fixtureSecret = TEST_SECRET } = options;
  if (freshIds && !resign) {
    throw new ConfigurationError("invalid_option", "freshIds needs resign: an id is signed");
  }
  if (!resign) return ({ headers }) => headers;
  if (secret === undefined) {
    throw new ConfigurationError("missing_secret", "resign needs the target's secret");
  }
  keyOf(secret);
  keyOf(fixtureSecret, 0, "fixtureSecret");
  const resigning = { secret, fixtureSecret, now, idFor: freshIds ? createFreshIds() : sameId };
  return (fixture) => resignedHeaders(fixture, resigning);
}

function sameId(id: string): string {
  return id;
}

function createFreshIds(): (id: string) => string {
  const fresh = new Map<string, string>();
  return (id) => {
    const made = fresh.get(id) ?? randomUUID();
    fresh.set(id, made);
    return made;
  };
}

async function exchange(sender: Sender, fixture: Fixture, headersOf: HeadersOf): Promise<Exchange> {
  const startedAt = performance.now();
  try {
    const lines = linesOf(await headersOf(fixture));
    const headers = lines.filter(([name]) => !CONNECTION_HEADERS.has(name.toLowerCase()));
    return await sender.send({ method: "POST", headers, body: fixture.body });
  } catch (error) {
    const message = error instanceof Error ? error.message : "no reason is given";
    return { error: message, ms: performance.now() - startedAt };
  }
}
