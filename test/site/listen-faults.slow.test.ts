import http from "node:http";
import express from "express";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { expressHandler } from "../../adapters/express.js";
import { sampleAlarm } from "../../kit/samples/sample-alarm.js";
import { signedDelivery } from "../../kit/signed-delivery.js";
import { createWebhookReceiver } from "../../src/index.js";
import { startCommand } from "../support/cli/cli-io.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { describeService } from "../support/describe-service.js";
import { serving } from "../support/serving.js";
import { launchChromium, missingChromium, PATIENCE_MS } from "./chromium.js";

/** A fault, and what the page must name on top. */
interface Fault {
  readonly finding: RegExp;
  /** What signs, in place of the test secret. */
  readonly secret?: string;
  /** By how much the clock of the gateway is off. */
  readonly offMs?: number;
  /** Changes the body on its way. */
  readonly proxy?: (body: string) => string;
  readonly hasParser?: true;
  readonly failures?: number;
}

const FAULTS: Readonly<Record<string, Fault>> = {
  "a wrong secret": {
    secret: "whsec_another_0123456789",
    finding: /most likely the secret is wrong/,
  },
  "a parser in front": { hasParser: true, finding: /body_consumed.*mount the receiver before it/s },
  "a proxy that rewrites the body": {
    proxy: (body) => JSON.stringify(JSON.parse(body), null, 2),
    finding: /body_reserialised/,
  },
  "a handler that fails once": { failures: 1, finding: /handler_failed/ },
  "a clock that is off": { offMs: -1_200_000, finding: /clock/ },
};

describeService("the page of listen names a planted fault", missingChromium, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser.close());

  test.each(Object.entries(FAULTS))("%s", async (name, fault) => {
    const { secret = TEST_SECRET, offMs = 0, proxy = String, hasParser, failures = 0 } = fault;
    let left = failures;
    const receiver = createWebhookReceiver({
      secret: TEST_SECRET,
      handlers: {
        new_alarm() {
          if (left-- > 0) throw new Error("planted");
        },
        delete_my_data_event: () => undefined,
      },
      logger: false,
    });
    const app = express();
    if (hasParser) app.use(express.json());
    app.all("/webhooks/gateway", expressHandler(receiver));
    const target = `${await serving(http.createServer(app))}webhooks/gateway`;
    const command = startCommand([
      "listen",
      "--port",
      "0",
      "--json",
      "--page",
      "--forward",
      target,
    ]);
    const [, url = ""] = await command.says(/"listening","url":"([^"]+)"/);
    const [, address = ""] = await command.says(/"page","url":"([^"]+)"/);
    const page = await browser.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    onTestFinished(() => page.close());
    await page.goto(address);

    const timestamp = Math.floor((Date.now() + offMs) / 1_000);
    const { body, ...request } = await signedDelivery({ alarm: sampleAlarm(), secret, timestamp });
    const send = () => fetch(url, { ...request, body: proxy(String(body)) });
    const startedAt = performance.now();
    const { status } = await send();
    expect(status).toBeGreaterThanOrEqual(400);
    const top = page.locator("#detail .finding, #detail p.bad").first();
    await top.waitFor();
    const shown = await page.locator("#detail .finding, #detail p.bad").allInnerTexts();
    const tookMs = performance.now() - startedAt;
    process.stdout.write(`${name}: on the page after ${tookMs.toFixed(0)} ms
`);
    expect(shown.join("\n")).toMatch(fault.finding);
    if (failures > 0) {
      expect((await send()).status).toBe(200);
      await page.getByText("2 attempts, the gateway takes it").waitFor();
    }
  });
});
