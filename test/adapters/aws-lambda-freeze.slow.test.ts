import { Redis } from "ioredis";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import type { LambdaResult, LambdaEvent } from "../../adapters/aws-lambda/http-event.js";
import { createGatewayTwin, createScaledClock, sampleAlarm } from "../../kit/index.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { EVENT_FORMS } from "../support/lambda/event-forms.js";
import type { LedgerEntry } from "../support/lambda/frozen-function-handler.js";
import { deployFunction } from "../support/lambda/lambda-function.js";
import { startFront } from "../support/lambda/lambda-front.js";
import { describeRedis } from "../support/redis/redis-describe.js";
import { startRedisServer } from "../support/redis/redis-server.js";

const SOURCE = fileURLToPath(
  new URL("../support/lambda/frozen-function-handler.ts", import.meta.url),
);

const DELIVERIES = 1_000;
const TIMEOUT_MS = 2_000;
const LEASE_MS = 2_000;
/** What the first run does, and of how many deliveries. The first run of all others is quick. */
const KINDS = { stuck: 5, overlong: 8, slow: 12, failing: 40 };

/** Ten seconds of the gateway's schedule take 100 ms. There are attempts enough for every lease to end. */
const RETRY = { attempts: 60, firstDelayMs: 10_000, factor: 1.5, maxDelayMs: 60_000 };
const FAULTS = { duplicateRate: 0.03, concurrentDuplicateRate: 0.03, lostAnswerRate: 0.03 };

const ODD_KINDS = Object.entries(KINDS).flatMap(([kind, count]) =>
  Array.from({ length: count }, () => kind),
);

/** What the first run of a delivery does: every fifteenth is one of the odd kinds, in mixed order. */
function kindOf(index: number): string {
  const kind = index % 15 === 0 ? (index / 15) * 7 : Infinity;
  return ODD_KINDS[kind < 7 * ODD_KINDS.length ? kind % ODD_KINDS.length : -1] ?? "quick";
}

const idOf = (event: object): string => (event as LambdaEvent).headers?.["x-webhook-id"] ?? "";

/** What happened to the deliveries from outside. */
interface OutsideFacts {
  /** The ids of the deliveries that the gateway holds for acknowledged. */
  readonly acknowledged: ReadonlySet<string>;
  /** The ids of the deliveries whose process was killed, once for each time. */
  readonly killed: readonly string[];
}

/** Everything in a ledger that the facts do not explain: lost, doubled, overlapping and odd runs. */
function unexplained(ledger: readonly LedgerEntry[], facts: OutsideFacts): string[] {
  const byId = new Map<string, LedgerEntry[]>();
  for (const entry of ledger) byId.set(entry.id, [...(byId.get(entry.id) ?? []), entry]);
  const lost = [...facts.acknowledged].filter(
    (id) => byId.get(id)?.some(({ what }) => what === "effect") !== true,
  );
  const found = lost.map((id) => `${id} was acknowledged without an effect`);
  for (const [id, entries] of byId) {
    const kills = facts.killed.filter((killed) => killed === id);
    const effects = entries.filter(({ what }) => what === "effect").length;
    if (effects > 1 + kills.length) {
      found.push(`${id} had ${effects} effects and ${kills.length} kills`);
    }
    if (!facts.acknowledged.has(id)) found.push(`${id} ran and was not acknowledged`);
    found.push(...overlaps(id, entries));
  }
  return found;
}

/** A line of an earlier run must not come after a later run has begun. */
function overlaps(id: string, entries: readonly LedgerEntry[]): string[] {
  let latest = 0;
  return entries.flatMap(({ run, what }) => {
    latest = Math.max(latest, run);
    return run < latest ? [`${id}: run ${run} has ${what} after run ${latest} began`] : [];
  });
}

/** A function on Redis, and the entries of its ledger. */
async function deploy() {
  const redis = await startRedisServer();
  onTestFinished(redis.close);
  const deployed = await deployFunction({
    source: SOURCE,
    instances: 2,
    timeoutMs: TIMEOUT_MS,
    // Long enough that another instance takes over what this one has given up.
    restAfter: (result) => ((result as LambdaResult).statusCode === 503 ? LEASE_MS + 1_000 : 0),
    environment: {
      REDIS_PORT: String(redis.port),
      GATEWAY_WEBHOOK_SECRET: TEST_SECRET,
      LEASE_MS: String(LEASE_MS),
      SLOW_MS: "700",
      OVERLONG_MS: String(TIMEOUT_MS + 500),
    },
  });
  onTestFinished(deployed.stop);
  const ledger = async (): Promise<LedgerEntry[]> => {
    const client = new Redis(redis.port);
    const lines = await client.lrange("ledger", 0, -1);
    client.disconnect();
    return lines.map((line) => JSON.parse(line) as LedgerEntry);
  };
  return { ...deployed, ledger };
}

describeRedis("a function whose instances are frozen between invocations", () => {
  it("handles a thousand deliveries with retries: none is lost, and none is doubled unless its instance was killed", async () => {
    const [httpApi] = EVENT_FORMS;
    const deployed = await deploy();
    if (httpApi === undefined) throw new Error("there is no form of event");
    const front = await startFront(httpApi, deployed.invoke);
    onTestFinished(front.close);

    const twin = createGatewayTwin({
      target: front.url,
      secret: TEST_SECRET,
      retry: RETRY,
      faults: FAULTS,
      seed: 7,
      clock: createScaledClock(100),
    });
    onTestFinished(twin.close);
    const events = Array.from({ length: DELIVERIES }, (_, index) => ({
      alarm: sampleAlarm({ text: kindOf(index) }),
    }));
    const report = await twin.deliverMany(events, { concurrency: 2 });

    const ledger = await deployed.ledger();
    const killed = deployed.failures.map(({ event }) => idOf(event));
    const acknowledged = new Set(report.deliveries.map(({ id }) => id));

    expect(report).toMatchObject({ acknowledged: DELIVERIES, lost: [] });
    expect(unexplained(ledger, { acknowledged, killed })).toEqual([]);
    // On a busy machine other functions need longer than the time-out too.
    expect(new Set(deployed.failures.map(({ kind }) => kind))).toEqual(new Set(["timeout"]));
    expect(killed.length).toBeGreaterThanOrEqual(KINDS.stuck);
    expect(deployed.instances.length).toBeGreaterThan(KINDS.stuck);
    const freezes = deployed.instances.reduce((sum, instance) => sum + instance.freezes(), 0);
    expect(freezes).toBeGreaterThan(DELIVERIES);
    const outcomes = new Set(twin.history().map(({ outcome }) => outcome));
    for (const outcome of ["handled", "duplicate", "in_flight", "handler_timeout"]) {
      expect(outcomes).toContain(outcome);
    }
  });
});
