import { fileURLToPath } from "node:url";
import { loadFixtures } from "identity-gateway-webhooks/testing";
import { sendEveryFixture } from "./every-fixture.js";
import { createLedger } from "./ledger.js";
import { deliverMoreThanOnce } from "./more-than-once.js";
import { deliverThroughOutages } from "./outages.js";
import { startServer } from "./server.js";
import type { Result } from "./table.js";

const OWN_FIXTURES = fileURLToPath(new URL("../../fixtures/", import.meta.url));

/** Delivers every fixture of a folder, and some trouble. Rejects with a `FixtureError` for a bad fixture. */
export async function showFixtures(folder: string = OWN_FIXTURES): Promise<Result> {
  const fixtures = await loadFixtures(folder);
  const ledger = createLedger();
  const server = await startServer(ledger);
  const startedAt = performance.now();
  const sections = [
    ...(await sendEveryFixture(server.url, fixtures, ledger)),
    await deliverMoreThanOnce(server, ledger),
    ...(await deliverThroughOutages(ledger)),
  ];
  const ms = performance.now() - startedAt;
  await server.close();
  return {
    headline: `The gateway delivers to ${server.url}`,
    sections,
    miscounts: ledger.miscounts(),
    ms,
  };
}
