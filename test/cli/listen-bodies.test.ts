import { networkInterfaces } from "node:os";
import { afterEach, expect, test } from "vitest";
import { sampleAlarm } from "../../src/testing/samples/sample-alarm.js";
import { signedDelivery } from "../../src/testing/signed-delivery.js";
import { startCommand, type RunningCommand } from "../support/cli-io.js";
import { answeringEndpoint } from "../support/cli-endpoint.js";
import { TEST_SECRET } from "../support/deliveries.js";

const running: RunningCommand[] = [];
const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const command of running.splice(0)) {
    command.interrupt();
    await command.exitCode;
  }
  await Promise.all(closing.splice(0).map((close) => close()));
});

async function start(...argv: readonly string[]) {
  const command = startCommand(["listen", "--port", "0", "--json", ...argv]);
  running.push(command);
  const [url] = await command.says(/http:\/\/[^/]+\//);
  const entry = async (): Promise<unknown> => {
    const [line = ""] = await command.says(/\{"event":"delivery".*\}/);
    return JSON.parse(line);
  };
  return { url: String(url), entry };
}

/** A delivery of about so many bytes. */
function alarm(bytes: number, secret = TEST_SECRET) {
  return signedDelivery({ alarm: sampleAlarm({ text: "x".repeat(bytes) }), secret });
}

test("a body that is too long is told from its length, and is not handed on", async () => {
  const app = await answeringEndpoint({ status: 200 });
  closing.push(app.close);
  const { url, entry } = await start("--max-body-bytes", "2000", "--forward", app.url);
  expect((await fetch(url, await alarm(2_000))).status).toBe(409);
  expect(await entry()).toMatchObject({
    ...{ outcome: "body_too_large", status: 409, bytes: 0, findings: [] },
    reasons: [expect.stringContaining("larger than maxBodyBytes")],
  });
  expect(app.seen).toEqual([]);
});

test("a long body that is taken is no reason why its signature does not match", async () => {
  const { url, entry } = await start("--max-body-bytes", "3000000");
  expect((await fetch(url, await alarm(2_000_000, "another secret"))).status).toBe(409);
  const { outcome, findings } = (await entry()) as {
    outcome: string;
    findings: readonly { code: string }[];
  };
  expect(outcome).toBe("signature_mismatch");
  expect(findings).not.toEqual([]);
  expect(findings.map(({ code }) => code)).not.toContain("body_too_large");
});

const hasIpv6 = Object.values(networkInterfaces())
  .flat()
  .some((network) => network?.address === "::1");

test.runIf(hasIpv6)("an IPv6 address is a host too", async () => {
  const { url } = await start("--host", "::1");
  expect(url).toMatch(/^http:\/\/\[::1\]:\d+\/$/);
  expect((await fetch(url, await alarm(1))).status).toBe(200);
});
