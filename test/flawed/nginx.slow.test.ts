import { expect, it } from "vitest";
import { describeService } from "../support/describe-service.js";
import { idsOf } from "../support/testing/run-suite.js";
import { judge } from "./judge.js";
import { NGINX_FLAWS, NGINX_HARMLESS } from "./nginx-flaws.js";
import { missingNginx } from "./nginx.js";

describeService("a right receiver behind nginx", missingNginx(), () => {
  // Side by side: a run of all cases mostly waits.
  for (const { does, createServer, front } of NGINX_HARMLESS) {
    it.concurrent(`no case accuses a receiver that ${does}`, async () => {
      const { results } = await judge(createServer, {}, undefined, front);
      const others = results.filter(({ result }) => result !== "passed");
      expect(others.map(({ id, result, reason }) => [id, result, reason])).toEqual([]);
    });
  }

  for (const { does, caughtBy, createServer, front } of NGINX_FLAWS) {
    it.concurrent(`a receiver that ${does} is convicted by ${caughtBy}`, async () => {
      const report = await judge(createServer, {}, ["alarm", caughtBy], front);
      // It is one flaw: plain deliveries are handled.
      expect(idsOf(report, "failed")).toEqual([caughtBy]);
    });
  }
});
