import { describe, expect, it } from "vitest";
import { createWebhookReceiver } from "../../src/index.js";
import type { ConformanceOptions } from "../../src/testing/conformance/conformance-options.js";
import { TEST_SECRET } from "../support/deliveries.js";
import {
  idsOf,
  judgeBehind,
  judgeTarget,
  ledgerReceiver,
  type Front,
} from "../support/testing/judged-receivers.js";
import { createLedger } from "../support/ledger.js";

const nothing = { failed: [], notJudged: [] };

describe("a receiver that does right is accused of nothing: one that", () => {
  it.each([
    [429, { "retry-after": "0" }],
    [503, {}],
  ])("is behind a limiter that answers %i now and then", async (status, headers) => {
    const createFront = (): Front => {
      let requests = 0;
      return (req, res) => {
        requests += 1;
        if (requests % 7 !== 0) return true;
        req.resume();
        res.writeHead(status, headers).end();
        return false;
      };
    };
    // What is unauthenticated is answered by the limiter, too.
    const { failed } = await judgeBehind(createFront);
    expect(failed.filter((id) => id !== "no_server_errors")).toEqual([]);
  });

  it("answers health checks by GET and HEAD", async () => {
    const front: Front = ({ method }, res) => {
      const isProbe = method === "GET" || method === "HEAD";
      if (isProbe) res.end("alive");
      return !isProbe;
    };
    expect(await judgeBehind(() => front)).toEqual(nothing);
    const probes = { handled: undefined, whileFailing: undefined, whileSlow: undefined };
    expect((await judgeBehind(() => front, probes)).failed).toEqual([]);
  });

  it("does nothing for an alarm or an event that it knows", async () => {
    const rows = new Map<unknown, string>();
    const upsert = (record: object, { id }: { id: string }) => {
      const key = "id" in record ? record.id : JSON.stringify(record);
      if (!rows.has(key)) rows.set(key, id);
    };
    const target = createWebhookReceiver({
      secret: TEST_SECRET,
      handlers: { new_alarm: upsert, delete_my_data_event: upsert },
      logger: false,
    });
    const handled = (id: string) => [...rows.values()].filter((row) => row === id).length;
    for (let run = 0; run < 2; run++) {
      expect(idsOf(await judgeTarget({ target, handled }), "failed")).toEqual([]);
    }
  });

  it("puts deliveries into a queue, be it counted there or behind it", async () => {
    const [queue, ledger] = [createLedger(), createLedger()];
    const target = ledgerReceiver({
      record(delivery) {
        void queue.record(delivery);
        ledger.later(() => {
          void ledger.record(delivery);
        });
      },
    });
    const { whileFailing } = queue;
    const behind = await judgeTarget({ target, handled: ledger.handled, whileFailing });
    expect(idsOf(behind, "failed")).toEqual([]);
    const unjudged = behind.results.find(({ id }) => id === "acknowledged_after_handling");
    expect(unjudged?.verdict).toBe("not_judged");
    expect(unjudged?.reason).toContain("a queue that survives the process");
    const within = await judgeTarget({ target, handled: queue.handled, whileFailing });
    expect(idsOf(within, "passed")).toContain("acknowledged_after_handling");
  });

  it.each(["ok", "handled", "outcome"])(
    "has the secret %s, which its answers say",
    async (secret) => {
      const handlers = { new_alarm: () => undefined, delete_my_data_event: () => undefined };
      const target = createWebhookReceiver({ secret, handlers, logger: false });
      const report = await judgeTarget({ target, secret });
      expect(idsOf(report, "failed")).toEqual([]);
      const alarm = report.results.find(({ id }) => id === "alarm");
      expect(alarm?.exchanges.at(-1)?.received).toMatchObject({ body: '{"outcome":"handled"}' });
    },
  );

  it("takes no ids but UUIDs", async () => {
    const ours = ledgerReceiver(createLedger());
    const target: ConformanceOptions["target"] = async (request) => {
      const body = new Uint8Array(await request.arrayBuffer());
      const { method, headers } = request;
      if (/[.][aA]$/.test(headers.get("x-webhook-id") ?? ""))
        return new Response("", { status: 503 });
      const answer = await ours.receive({ method, headers, body });
      return new Response(answer.body, { status: answer.status });
    };
    const report = await judgeTarget({ target }, ["duplicate_handled_once"]);
    expect(idsOf(report, "passed")).toEqual(["duplicate_handled_once"]);
  });
});
