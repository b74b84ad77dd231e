import { describe, expect, test } from "vitest";
import { metricsText, type AuthenticDelivery } from "../../src/index.js";
import { probeReceiver } from "../../src/management/index.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { recordingReceiver } from "../support/recording-receiver.js";

/** A receiver that is called without a network, and all that it tells. */
function observed(timestampToleranceMs?: number) {
  const shown: AuthenticDelivery[] = [];
  const { receiver, reports, lines } = recordingReceiver({
    ...{ now: Date.now, timestampToleranceMs },
    onAuthenticDelivery: (authentic) => shown.push(authentic),
  });
  const fetch = async (_url: string, init: RequestInit): Promise<Response> => {
    const headers = new Headers(init.headers);
    const { status, body } = await receiver.receive({ headers, body: init.body as string });
    return new Response(body, { status });
  };
  const probe = (secret: string, type: "new_alarm" | "delete_my_data_event" = "new_alarm") =>
    probeReceiver("https://partner.example/", { secret, type }, { fetch });
  return { receiver, probe, reports, shown, lines };
}

describe("a probe of the secret", () => {
  test.each([
    ["stale", undefined],
    ["type_mismatch", 7 * 86_400_000],
  ])(
    "that ends as %s is in no log, counter or health, and only onOutcome sees it",
    async (outcome, tolerance) => {
      const { receiver, probe, reports, shown, lines } = observed(tolerance);
      const before = { metrics: metricsText(receiver), health: receiver.health() };
      for (let sent = 0; sent < 10; sent++)
        expect((await probe(TEST_SECRET)).outcome).toBe(outcome);
      expect({ metrics: metricsText(receiver), health: receiver.health() }).toEqual(before);
      expect([...shown, ...lines]).toEqual([]);
      expect(reports.map((report) => report.outcome)).toEqual(Array(10).fill(outcome));
    },
  );

  test("with a wrong secret counts as any mismatch does, and an accepted one ends a run of them", async () => {
    const { receiver, probe, lines } = observed();
    const codes = () => receiver.health().reasons.map(({ code }) => code);
    for (let sent = 0; sent < 5; sent++) await probe("a-secret-that-is-unknown");
    expect(codes()).toEqual(["only_mismatches"]);
    expect(lines).toHaveLength(1);
    await probe(TEST_SECRET);
    expect(codes()).toEqual([]);
  });
});
