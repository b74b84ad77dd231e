import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createWebhookReceiver } from "../../src/index.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { failureOf, idsOf, runSuite, type Answering } from "../support/testing/run-suite.js";
import { createLedger, type Ledger } from "../support/ledger.js";

/** A receiver that recognises duplicates by the key that `keyOf` makes from a delivery. */
function remembering(
  keyOf: (id: string, body: Uint8Array) => string,
  { record }: Ledger = createLedger(),
  answers: readonly [handled: string, duplicate: string] = ["", ""],
): Answering {
  const seen = new Set<string>();
  return async (request) => {
    const body = new Uint8Array(await request.arrayBuffer());
    const key = keyOf(request.headers.get("x-webhook-id") ?? "", body);
    const isDuplicate = seen.has(key);
    const handle = (_: unknown, context: { readonly id: string }) => {
      if (!isDuplicate) void record(context);
      seen.add(key);
    };
    const { method, headers } = request;
    const handlers = { new_alarm: handle, delete_my_data_event: handle };
    const receiver = createWebhookReceiver({ secret: TEST_SECRET, handlers, logger: false });
    const { status } = await receiver.receive({ method, headers, body });
    return new Response(status === 200 ? answers[isDuplicate ? 1 : 0] : "", { status });
  };
}

const hashOf = (_: string, body: Uint8Array) => createHash("sha256").update(body).digest("hex");
const ID = ["duplicate_by_id_alone"];

describe("duplicates recognised by the body", () => {
  it("a receiver that recognises duplicates by the body is caught by a duplicate in other bytes", async () => {
    const ledger = createLedger();
    const target = remembering(hashOf, ledger);
    const failure = await failureOf("duplicate_by_id_alone", { target, handled: ledger.handled });
    expect(failure.message).toBe("the delivery was handled 2 times");
    expect(failure.fix).toContain("Do not use the body");
  });

  it("a receiver that recognises duplicates by the body is caught by the outcomes that it names", async () => {
    const outcomes = ['{"outcome":"handled"}', '{"outcome":"duplicate"}'] as const;
    const target = remembering(hashOf, createLedger(), outcomes);
    const failure = await failureOf("duplicate_by_id_alone", { target });
    expect(failure.message).toContain("the same body under another id: answered 200, ");
    expect(failure.message).toContain("as a duplicate of the first delivery");
  });

  it("a receiver that recognises duplicates by the body is not judged without probe and outcomes", async () => {
    const report = await runSuite({ target: remembering(hashOf) }, ID);
    expect(idsOf(report, "not_judged")).toEqual(ID);
  });

  it("a receiver that recognises duplicates by the id passes", async () => {
    const ledger = createLedger();
    const target = remembering((id) => id, ledger);
    const report = await runSuite({ target, handled: ledger.handled }, ID);
    expect(idsOf(report, "passed")).toEqual(ID);
  });
});
