import { describe, expect, it } from "vitest";
import type { WebhookReceiverOptions } from "../../src/index.js";
import { createCollector } from "../support/collector.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { rejects } from "../support/faults.js";
import { forgedRequests } from "../support/forged-requests.js";
import { Monitored } from "../support/monitored-receiver.js";

const BURST = 1_000;
/** A burst takes 14 minutes. */
const STEP_MS = 840;
const FORGED = await forgedRequests();

const secrets: Readonly<Record<string, Partial<WebhookReceiverOptions>>> = {
  "a static secret": { secret: TEST_SECRET },
  "a function": { secret: () => Promise.resolve(TEST_SECRET) },
  "a function that fails": { secret: rejects },
};

describe.each(Object.entries(secrets))("with %s", (name, options) => {
  it.each(FORGED.map((forged) => [forged.kind, forged] as const))(
    `a burst of 1 000 requests with %s is at most degraded with ${name}, and evicts nothing`,
    async (_kind, forged) => {
      const works = name !== "a function that fails";
      for (const isBeside of works ? [false, true] : [false]) {
        const { options: observers, lines } = createCollector();
        const { logger } = observers;
        const monitored = new Monitored({ maxBodyBytes: 10_000, ...options, logger });
        const statuses = new Set<number>();
        for (let sent = 0; sent < BURST; sent += 1) {
          if (sent % 100 === 0) {
            expect(monitored.health().status, `after ${String(sent)}`).not.toBe("failing");
            const id = `genuine-${String(sent)}`;
            if (isBeside) expect(await monitored.send({ id })).toBe("handled");
          }
          statuses.add((await monitored.receiver.receive(forged)).status);
          monitored.nowMs += STEP_MS;
        }
        expect(statuses.has(200)).toBe(forged.kind === "GET");
        expect(monitored.health().status).not.toBe("failing");
        if (!works) continue;
        expect(lines.filter(({ level }) => level === "error")).toEqual([]);
        for (let sent = 0; isBeside && sent < BURST; sent += 100) {
          expect(await monitored.send({ id: `genuine-${String(sent)}` })).toBe("duplicate");
        }
        monitored.pass({ minutes: 16 });
        expect(monitored.health()).toMatchObject({ status: "ok", reasons: [] });
      }
    },
  );
});
