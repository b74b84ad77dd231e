// A test of the receiver in module.ts: `npx identity-gateway-webhooks init` writes both.
import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import {
  TEST_SECRET,
  receiverConformance,
  runConformance,
} from "identity-gateway-webhooks/testing";
import { gatewayReceiver } from "./module.js";

void test("each delivery is handled once, and a forged one never", { timeout: 180_000 }, proof);

// Needs no database and no .env. Whether your app mounts the receiver rightly, `doctor` tests.
async function proof() {
  const { log, warn, error } = console;
  console.warn = console.error = () => undefined; // what is refused is logged
  // The work of the handlers is a line that begins with the delivery's id: this counts such lines, and can make them
  // fail. Once your handlers do other work, count and fail that instead.
  const runs = new Map<string, number>();
  let isDown = false;
  console.log = (line: string) => {
    if (isDown) throw new Error("the work fails");
    const [id = ""] = line.split(": ");
    runs.set(id, (runs.get(id) ?? 0) + 1);
  };
  try {
    const cases = receiverConformance({
      target: gatewayReceiver({ secret: TEST_SECRET }),
      secret: TEST_SECRET,
      handled: (id) => runs.get(id) ?? 0,
      whileFailing: (work) => {
        isDown = true;
        return work().finally(() => (isDown = false));
      },
    });
    const { results } = await runConformance(cases, { concurrency: 4 });
    const open = results.filter(
      ({ result, level, need }) =>
        // A line of a log is never slow. For other work pass whileSlow. The rest is about connections.
        (result === "failed" && level === "must") ||
        (result === "not_judged" && need !== "whileSlow" && need !== "url"),
    );
    const reasons = open.map(({ id, reason }) => `${id}: ${reason}`);
    deepEqual(reasons, []);
  } finally {
    Object.assign(console, { log, warn, error });
  }
}
