import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createWebhookReceiver, type SecretOption } from "../../src/index.js";
import { adapterTargets } from "../support/adapters/adapter-targets.js";
import { lambdaTargetsOf } from "../support/adapters/lambda-targets.js";
import { createCollector } from "../support/collector.js";
import { delivery, NOW_MS, TEST_SECRET } from "../support/deliveries.js";
import { rowsOfRun } from "../support/extent.js";
import { forgedRequests } from "../support/forged-requests.js";

const EACH = 100;
const GENUINE = 10;
const FORGED = await forgedRequests();
type Sent = Omit<(typeof FORGED)[number], "kind">;
const lookUpIn =
  (ms: number): SecretOption =>
  () =>
    wait(ms, TEST_SECRET);

const secrets: readonly {
  readonly name: string;
  readonly secret: SecretOption;
  readonly dependencyTimeoutMs?: number;
}[] = [
  { name: "a static secret", secret: TEST_SECRET },
  { name: "a secret function of 50 ms", secret: lookUpIn(50) },
  { name: "a secret function of 500 ms", secret: lookUpIn(500) },
  {
    name: "a secret function of 5 s",
    secret: lookUpIn(5_000),
    dependencyTimeoutMs: 10_000,
  },
];

// Lambda answers before its invocation ends, so there must be time for the slowest function.
const targets = [
  ...adapterTargets.filter(({ isGivenUp }) => isGivenUp !== true),
  ...lambdaTargetsOf(60_000),
];

describe.each(targets)("$name", (target) => {
  // How long a secret takes is the receiver's affair and no adapter's: in each run one adapter has the slow functions.
  it.each(rowsOfRun(secrets, ({ secret }) => secret === TEST_SECRET || target === targets[0]))(
    `${target.name} handles every delivery beside 1 500 forged requests, with $name`,
    async ({ secret, dependencyTimeoutMs }) => {
      const { options: observers, lines } = createCollector();
      const { logger } = observers;
      const receiver = createWebhookReceiver({
        secret,
        dependencyTimeoutMs,
        handlers: { new_alarm: () => undefined },
        logger,
        maxBodyBytes: 10_000,
        now: () => NOW_MS,
      });
      const mounted = await target.open(receiver);
      const send = async ({ method, headers, body }: Sent): Promise<number> => {
        const bytes = method === "GET" ? undefined : new TextEncoder().encode(String(body));
        return (await mounted.send({ method, headers: Object.entries(headers), body: bytes }))
          .status;
      };
      try {
        const forged: Promise<number>[] = [];
        const genuine: Promise<number>[] = [];
        for (let round = 0; round < EACH; round += 1) {
          forged.push(...FORGED.map(send));
          if (round % (EACH / GENUINE) === 0) {
            genuine.push(delivery({ id: `genuine-${String(round)}` }).then(send));
          }
          // Lets the server answer, as a network would.
          await wait(5);
        }
        const taken = (await Promise.all(forged)).filter((status) => status === 200);
        expect(taken).toHaveLength(EACH);
        expect(await Promise.all(genuine)).toEqual(Array(GENUINE).fill(200));
        expect(lines.filter(({ level }) => level === "error")).toEqual([]);
        expect(receiver.health()).toMatchObject({
          status: "degraded",
          reasons: [{ code: "mismatch_ratio" }],
        });
        expect(await send(await delivery({ id: "genuine-0" }))).toBe(200);
        expect(receiver.health().lastAcknowledgedAt.new_alarm).not.toBeNull();
      } finally {
        await mounted.close();
      }
    },
  );
});
