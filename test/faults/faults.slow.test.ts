import { readdirSync } from "node:fs";
import { execFile } from "node:child_process";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, it } from "vitest";
import { describeService } from "../support/describe-service.js";
import { hasPostgres } from "../support/postgres/postgres-server.js";
import { hasRedisServer } from "../support/redis/redis-server.js";
import { SHORT_PLAN } from "./plan/plans.js";
import { complaintsOf } from "./report/complaints.js";
import { runFaults, type FaultResults } from "./run-faults.js";

const RUN = fileURLToPath(new URL("run.ts", import.meta.url));
const SEED = 20_261_121;

describeService(
  "four receivers of the built package, under short fault injection",
  hasRedisServer && hasPostgres ? undefined : "no redis-server or no initdb on PATH",
  () => {
    let results: FaultResults;
    let leftFolders: readonly string[];

    beforeAll(async () => {
      const before = faultFolders();
      results = await runFaults({ ...SHORT_PLAN, seed: SEED });
      leftFolders = faultFolders().filter((name) => !before.includes(name));
    });

    it("breaks no rule, and finds the mistakes of the flawed receivers", () => {
      expect(complaintsOf(results)).toEqual([]);
    });

    it("has met every kind of fault", () => {
      for (const { mode, deliveries, faults } of results.modes) {
        const copies = mode.traffic?.twoWebhooks === true ? 2 : 1;
        expect(deliveries).toBe(copies * mode.deliveries);
        const { kills, stops, restarts, failovers, replays } = mode.faults;
        expect(faults).toMatchObject({ kills, stops, restarts, failovers, replays });
      }
      expect(results.detections).toHaveLength(SHORT_PLAN.flawed.length);
    });

    it("loses acknowledged deliveries with an asynchronous standby alone", () => {
      const lossesOf = (kind: string) =>
        results.modes.find(({ mode }) => mode.standby === kind)?.checked.explainedLosses;
      expect(lossesOf("asynchronous")).toBeGreaterThan(0);
      expect(lossesOf("synchronous")).toBe(0);
    });

    it("leaves no folder", () => {
      expect(leftFolders).toEqual([]);
    });
  },
);

it("npm run faults refuses a mode that the short plan does not have", async () => {
  const args = ["--import", "tsx", RUN, "--short", "--mode", "overload"];
  const ended = new Promise((resolve) => {
    execFile(process.execPath, args, (error, stdout) => resolve([error?.code, stdout]));
  });
  expect(await ended).toEqual([2, expect.stringContaining("--short has no mode overload")]);
});

function faultFolders(): readonly string[] {
  return readdirSync(tmpdir()).filter((name) => name.startsWith("faults-"));
}
