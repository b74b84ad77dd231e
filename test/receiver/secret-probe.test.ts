import { expect, test } from "vitest";
import { metricsText, type AuthenticDelivery } from "../../src/index.js";
import { probeReceiver } from "../../src/management/index.js";
import { delivery, TEST_SECRET } from "../support/deliveries.js";
import { recordingReceiver } from "../support/recording-receiver.js";

/** A receiver that is called without a network, and all that it tells. */
function observed(timestampToleranceMs?: number) {
  const shown: AuthenticDelivery[] = [];
  const clock = { aheadMs: 0 };
  const { receiver, reports, lines } = recordingReceiver({
    now: () => Date.now() + clock.aheadMs,
    timestampToleranceMs,
    onAuthenticDelivery: (authentic) => shown.push(authentic),
  });
  const fetch = async (_url: string, init: RequestInit): Promise<Response> => {
    const headers = new Headers(init.headers);
    const { status, body } = await receiver.receive({ headers, body: init.body as string });
    return new Response(body, { status });
  };
  const probe = (secret: string) =>
    probeReceiver("https://partner.example/", { secret, type: "new_alarm" }, { fetch });
  return { receiver, probe, reports, shown, lines, clock };
}

test.each([
  ["stale", undefined],
  ["type_mismatch", 7 * 86_400_000],
])(
  "a probe of the secret that ends as %s is in no log, counter or health, and only onOutcome sees it",
  async (outcome, tolerance) => {
    const { receiver, probe, reports, shown, lines } = observed(tolerance);
    // WebCrypto makes it after the first look.
    await expect.poll(() => metricsText(receiver)).toContain("secret_fingerprint");
    const before = { metrics: metricsText(receiver), health: receiver.health() };
    for (let sent = 0; sent < 10; sent++) expect((await probe(TEST_SECRET)).outcome).toBe(outcome);
    expect({ metrics: metricsText(receiver), health: receiver.health() }).toEqual(before);
    expect([...shown, ...lines]).toEqual([]);
    expect(reports.map((report) => report.outcome)).toEqual(Array(10).fill(outcome));
  },
);

test("a probe with a wrong secret is logged, but only deliveries make a type refused whole", async () => {
  const { receiver, probe, lines, clock } = observed();
  const codes = () => receiver.health().reasons.map(({ code }) => code);
  for (let sent = 0; sent < 4; sent++) await probe("a-secret-that-is-unknown");
  expect(lines).toHaveLength(1);
  clock.aheadMs = 16 * 60_000;
  await probe("a-secret-that-is-unknown");
  expect(codes()).not.toContain("all_refused");
  const refused = 'not_authentic_total{reason="signature_mismatch",type="new_alarm"}';
  expect(metricsText(receiver)).toContain(`${refused} 0\n`);
  for (let sent = 0; sent < 5; sent++) {
    await receiver.receive(await delivery({ secret: "a-secret-that-is-unknown" }));
    clock.aheadMs += 4 * 60_000;
  }
  expect(codes()).toContain("all_refused");
  await probe(TEST_SECRET);
  expect(codes()).toEqual([]);
});
