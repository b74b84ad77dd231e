// npx tsx test/site/screenshots.ts: makes the pictures in docs/images from the page of listen and the built site.
// Needs Chromium, and what npm run docs:build has written. The site shows the pictures of listen.
import { copyFileSync, mkdirSync, statSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import type { Browser, Page } from "playwright-core";
import { nodeHandler } from "../../adapters/node.js";
import { listenerPage } from "../../cli/listen/listener-page.js";
import { Forwarder } from "../../kit/listener/forwarder.js";
import { startApi } from "../../kit/listener/listener-api.js";
import { Listener } from "../../kit/listener/listener.js";
import { startServer } from "../../kit/listener/local-server.js";
import { sampleAlarm } from "../../kit/samples/sample-alarm.js";
import { sampleOnlineDataEvent } from "../../kit/samples/sample-online-data-event.js";
import { signedDelivery, TEST_SECRET as secret } from "../../kit/signed-delivery.js";
import { createWebhookReceiver } from "../../src/index.js";
import { REPOSITORY } from "../support/package/installed-package.js";
import { serveSite, SITE } from "../support/site/built-site.js";
import { launchChromium } from "./chromium.js";

const FOLDER = path.join(REPOSITORY, "docs/images");
const MAX_BYTES = 100_000;
/** Its text can be read where a picture is 340 px wide. */
const NARROW = { width: 500, height: 760 };
const PHONE = { width: 390, height: 844 };

async function picture(page: Page, name: string): Promise<void> {
  const file = path.join(FOLDER, `${name}.png`);
  await page.screenshot({ path: file, animations: "disabled" });
  const { size } = statSync(file);
  process.stdout.write(`docs/images/${name}.png: ${String(size)} bytes\n`);
  if (size > MAX_BYTES) throw new Error(`${name} has more than ${String(MAX_BYTES)} bytes`);
}

/** An app whose handler fails twice for the delivery `three-attempts`. */
async function startApp(): Promise<http.Server> {
  let failures = 2;
  const receiver = createWebhookReceiver({
    secret,
    handlers: {
      new_alarm(_alarm, { id }) {
        if (id === "three-attempts" && failures-- > 0) throw new Error("the database is away");
      },
      delete_my_data_event: () => undefined,
    },
    logger: false,
  });
  const server = http.createServer(nodeHandler(receiver));
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return server;
}

async function pageOfListen(browser: Browser): Promise<void> {
  const app = await startApp();
  const { port } = app.address() as { port: number };
  const forwarder = new Forwarder(new URL(`http://127.0.0.1:${String(port)}/`), 5_000);
  const listener = new Listener({ secret, maxBodyBytes: 1_048_576, forwarder });
  const server = await startServer(listener.answer.bind(listener), 0, "127.0.0.1", "any");
  const api = await startApi(listener, await listenerPage(server.url));
  const page = await browser.newPage({ viewport: NARROW, colorScheme: "light" });
  await page.goto(`${api.url}#${api.token}`);

  const alarm = sampleAlarm({ account_id: 42 });
  const send = async (
    delivery: ReturnType<typeof signedDelivery>,
    change = (body: string) => body,
  ) => {
    const { body, ...request } = await delivery;
    await fetch(server.url, { ...request, body: change(String(body)) });
  };
  const event = sampleOnlineDataEvent("DATA_REAPPEARED");
  await send(signedDelivery({ event, secret }));
  const retried = await signedDelivery({ alarm, secret, id: "three-attempts" });
  for (let attempt = 1; attempt <= 3; attempt++) await fetch(server.url, retried);
  await page.getByText("3 attempts").waitFor();
  await page.keyboard.press("k");
  await picture(page, "listen-three-attempts");
  await send(signedDelivery({ alarm, secret }), (body) => `${body}\n`);
  await page.locator(".pill").filter({ hasText: "409" }).first().waitFor();
  await page.keyboard.press("k");
  await page.locator("#detail .finding").waitFor();
  await picture(page, "listen-failing-signature");
  await page.keyboard.press("s");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.locator("#detail h2").filter({ hasText: "200 new_alarm" }).waitFor();
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await picture(page, `listen-${colorScheme}`);
  }
  await page.close();
  await Promise.all([server.close(), api.close()]);
  forwarder.close();
  app.close();
  app.closeAllConnections();
}

async function frontPage(browser: Browser): Promise<void> {
  // The site was built with the pictures of before.
  const shown = path.join(SITE, "files/docs/images");
  mkdirSync(shown, { recursive: true });
  for (const name of ["listen-light", "listen-failing-signature"]) {
    copyFileSync(path.join(FOLDER, `${name}.png`), path.join(shown, `${name}.png`));
  }
  const site = await serveSite();
  const viewports = { desktop: { width: 1200, height: 720 }, phone: PHONE };
  for (const [name, viewport] of Object.entries(viewports)) {
    const page = await browser.newPage({ viewport, colorScheme: "light", reducedMotion: "reduce" });
    await page.goto(site.url, { waitUntil: "networkidle" });
    await picture(page, `site-${name}`);
    await page.close();
  }
  await site.close();
}

mkdirSync(FOLDER, { recursive: true });
const browser = await launchChromium();
await pageOfListen(browser);
if (!process.argv.includes("--listen")) await frontPage(browser);
await browser.close();
