// A test of the server in gateway.ts, in a process of its own: `npx identity-gateway-webhooks init` writes both.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { TEST_SECRET, sampleAlarm, signedDelivery } from "identity-gateway-webhooks/testing";

void test("an alarm is handled once, and a forged one never", { timeout: 60_000 }, async () => {
  const file = fileURLToPath(new URL("gateway.ts", import.meta.url));
  const server = spawn(process.execPath, ["--import", "tsx", file], {
    env: { ...process.env, PORT: "0", GATEWAY_WEBHOOK_SECRET: TEST_SECRET },
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const url = await new Promise<string>((resolve, reject) => {
      const lines = createInterface({ input: server.stdout });
      lines.on("line", (line) => {
        resolve(line.replace("listening on ", ""));
      });
      lines.on("close", () => {
        reject(new Error("the server has ended"));
      });
    });
    const answerTo = async (delivery: RequestInit) => (await fetch(url, delivery)).text();
    const sent = await signedDelivery({ alarm: sampleAlarm(), secret: TEST_SECRET });
    assert.match(await answerTo(sent), /"handled"/);
    assert.match(await answerTo(sent), /"duplicate"/);
    const forged = await signedDelivery({ alarm: sampleAlarm(), secret: "not the secret" });
    assert.match(await answerTo(forged), /"SIGNATURE_MISMATCH"/);
  } finally {
    server.kill();
  }
});
