import { describe, expect, it } from "vitest";
import type { WebhookReceiverOptions } from "../../src/index.js";
import { createCollector } from "../support/collector.js";
import { delivery, TEST_SECRET } from "../support/deliveries.js";
import { rejects } from "../support/faults.js";
import { Monitored } from "../support/monitored-receiver.js";

/** A request of a stranger, who does not know the secret. */
interface ForgedRequest {
  readonly kind: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/** What a stranger changes in a delivery that he signs with a secret of his own. Undefined takes a header away. */
const CHANGES: Readonly<Record<string, Readonly<Record<string, string | undefined>>>> = {
  "another secret": {},
  "no signature": { "x-webhook-signature": undefined },
  "a broken signature": { "x-webhook-signature": "v1=0" },
  "no id": { "x-webhook-id": undefined },
  "a broken id": { "x-webhook-id": "a:b" },
  "no timestamp": { "x-webhook-timestamp": undefined },
  "a broken timestamp": { "x-webhook-timestamp": "noon" },
  "no type": { "x-webhook-type": undefined },
  "the other type": { "x-webhook-type": "delete_my_data_event" },
  "a type that is not documented": { "x-webhook-type": "jane_doe" },
  "the type constructor": { "x-webhook-type": "constructor" },
};

/** Every kind of forged request, one each. */
async function forgedRequests(): Promise<readonly ForgedRequest[]> {
  const { method, headers, body } = await delivery({
    id: "forged",
    secret: "a secret of the stranger",
  });
  const changed = Object.entries(CHANGES).map(([kind, changes]): ForgedRequest => {
    const all: Readonly<Record<string, string | undefined>> = { ...headers, ...changes };
    const kept = Object.entries(all).filter(
      (header): header is [string, string] => header[1] !== undefined,
    );
    return { kind, method, headers: Object.fromEntries(kept), body };
  });
  return [
    ...changed,
    { kind: "no webhook header", method, headers: {}, body },
    { kind: "GET", method: "GET", headers: {}, body: "" },
    { kind: "PUT", method: "PUT", headers, body },
    { kind: "a body over the limit", method, headers, body: " ".repeat(20_000) },
  ];
}

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
