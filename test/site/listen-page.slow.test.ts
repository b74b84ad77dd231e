import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import { promisify } from "node:util";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { parseFixture } from "../../kit/fixtures/fixture.js";
import type { ListenedDelivery } from "../../kit/listener/listened-delivery.js";
import { sampleAlarm } from "../../kit/samples/sample-alarm.js";
import { signedDelivery } from "../../kit/signed-delivery.js";
import { startCommand } from "../support/cli/cli-io.js";
import { answeringEndpoint, receivingEndpoint } from "../support/cli/cli-endpoint.js";
import { TEST_SECRET as secret } from "../support/deliveries.js";
import { describeService } from "../support/describe-service.js";
import { partnerProject } from "../support/package/partner-project.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { launchChromium, missingChromium, PATIENCE_MS } from "./chromium.js";

const partner = partnerProject();
const folder = temporaryFolder();

describeService("the page of listen in Chromium", missingChromium, () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await launchChromium();
  });

  afterAll(() => browser.close());

  /** `listen --page` before an app of this library, and its page. */
  async function open(...more: readonly string[]) {
    const app = await receivingEndpoint();
    return { app, ...(await openBefore(app.url, ...more)) };
  }

  async function openBefore(target: string, ...more: readonly string[]) {
    const argv = ["listen", "--port", "0", "--json", "--page", "--forward", target];
    const isUnsigned = more.includes("--accept-unsigned");
    const env = isUnsigned ? { GATEWAY_WEBHOOK_SECRET: undefined } : {};
    const command = startCommand([...argv, ...more], { env });
    const [, url = ""] = await command.says(/"listening","url":"([^"]+)"/);
    const [, address = ""] = await command.says(/"page","url":"([^"]+)"/);
    const permissions = ["clipboard-read", "clipboard-write"];
    const context = await browser.newContext({ permissions });
    context.setDefaultTimeout(PATIENCE_MS);
    const page = await context.newPage();
    onTestFinished(() => context.close());
    const errors: string[] = [];
    page.on("pageerror", (error) => errors.push(error.message));
    await page.goto(address);
    return { url, address, page, context, errors };
  }

  const delivery = (id?: string, text = "found") =>
    signedDelivery({ alarm: sampleAlarm({ text, account_id: 42 }), secret, id });
  const post = async (url: string, change = (body: string) => body, id?: string) => {
    const { body, ...request } = await delivery(id);
    return fetch(url, { ...request, body: change(String(body)) });
  };
  const forge = (url: string) => post(url, (body) => body.replace('"found"', '"found "'));
  const listed = async (address: string, seq: number) => {
    const { hash, origin } = new URL(address);
    const headers = { authorization: `Bearer ${hash.slice(1)}` };
    const answer = await fetch(`${origin}/deliveries?seq=${String(seq)}`, { headers });
    return ((await answer.json()) as { delivery?: ListenedDelivery }).delivery;
  };
  /** Waits for a delivery whose title has this text. */
  const shows = (page: Page, text: string) =>
    page.locator("#detail h2").filter({ hasText: text }).waitFor();
  const press = async (page: Page, ...keys: readonly string[]) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  const rows = (page: Page) => page.locator("#rows li");
  const copied = (page: Page) => page.evaluate<string>("navigator.clipboard.readText()");
  const says = (page: Page, text: string) =>
    page.locator("#state").filter({ hasText: text }).waitFor();

  test("a delivery appears as a row, and its body stays masked until asked for", async () => {
    const { url, page } = await open();
    expect((await post(url)).status).toBe(200);
    await shows(page, "200 new_alarm");
    expect(await rows(page).allInnerTexts()).toEqual([expect.stringContaining("authentic")]);
    const masked = await page.locator("#body").innerText();
    expect(masked).toContain('{"alarm":{"id":•');
    expect(masked).toContain('"text":"•••••"');
    // Keys of the payload are not documented.
    expect(masked.replaceAll(/"\w+":/g, "")).not.toMatch(/[a-z0-9]/i);
    await page.getByText("Show the body").click();
    expect(await page.locator("#body").innerText()).toContain('"found"');
    expect(await page.locator("#answer").innerText()).toBe('{"outcome":"handled"}');
  });

  test("r sends the same again, n a new id, and attempts of one id share a row", async () => {
    const { url, page, app } = await open();
    await post(url, undefined, "one");
    await post(url, undefined, "one");
    await page.getByText("2 attempts, the gateway takes it").waitFor();
    await press(page, "r");
    await expect.poll(() => rows(page).count()).toBe(2);
    await press(page, "n");
    await expect.poll(() => rows(page).count()).toBe(3);
    expect(app.outcomes()).toEqual(["handled", "duplicate", "duplicate", "handled"]);
  });

  test("an edited body is signed anew; otherwise its changed bytes are marked", async () => {
    const { url, page } = await open();
    await post(url);
    await shows(page, "");
    await press(page, "e");
    const area = page.locator("textarea");
    await area.fill((await area.inputValue()).replace("found", "FOUND"));
    await page.locator("#edit").getByText("Sign and send").click();
    await says(page, "2 so far");
    await shows(page, "200 new_alarm");
    await press(page, "e");
    await area.fill((await area.inputValue()).replace(/found/i, "lost"));
    await page.getByText("Send with the old signature").click();
    await shows(page, "409 signature_mismatch");
    await page.getByText("Show the body").click();
    expect(await page.locator("mark").innerText()).toBe("lost");
  });

  test("the finding of a rewritten body is on top, with its changed bytes", async () => {
    const { url, page } = await open();
    await post(url, (body) => `${body}\n`);
    await shows(page, "409 signature_mismatch");
    expect(await page.locator(".finding strong").first().innerText()).toBe("body_trailing_newline");
    expect(await page.locator("mark").innerText()).toBe("⏎");
    expect(await page.locator("#next").innerText()).toMatch(
      /sent again in \d+ s, given up at \d\d/,
    );
  });

  test("the copied curl gives the same answer in a shell", async () => {
    const { url, page } = await open();
    await forge(url);
    await shows(page, "");
    await press(page, "c");
    await says(page, "Copied a curl command");
    const { stdout } = await promisify(execFile)("bash", ["-c", await copied(page)]);
    expect(stdout).toBe(await page.locator("#answer").innerText());
    await expect.poll(() => rows(page).count()).toBe(1);
    await page.getByText("2 attempts").waitFor();
  });

  const CONTROLS =
    "\u0003\ntouch pwned\n\u001b[201~\rtouch pwned\r\u009b201~\u202e\u2066\u200b\u00ad\0";
  test.each([
    ["bash", `'; touch pwned; '${CONTROLS}漢`],
    ["sh", `'; touch pwned; '${CONTROLS}漢`],
    ["bash", "'$(touch pwned)`touch pwned`\\\"!!\t%s\n@é"],
    ["sh", "'$(touch pwned)`touch pwned`\\\"!!\t%s\n@é"],
  ])(
    "in %s the copied curl sends a stranger's %j as it was, and nothing else runs",
    async (shell, body) => {
      const { url, address, page } = await open();
      const headers = { "X-Odd": `'$(touch pwned)\u009b201~é`, "X-Empty": "" };
      http.request(url, { method: "POST", headers }).end(Buffer.from(body));
      await shows(page, "409");
      await press(page, "c");
      await says(page, "Copied a curl command");
      const command = await copied(page);
      expect(command).not.toMatch(/(?![\t\n])[\p{Cc}\p{Cf}]/u);
      await promisify(execFile)(shell, ["-c", command], { cwd: folder.at() });
      expect(existsSync(folder.at("pwned"))).toBe(false);
      await says(page, "2 so far");
      const [first, second] = await Promise.all([1, 2].map((seq) => listed(address, seq)));
      expect(second?.body).toBe(body);
      expect(second?.body).toBe(first?.body);
      expect(second?.headers).toEqual(expect.arrayContaining(Object.entries(headers)));
      await press(page, "t");
      await says(page, "Copied a test");
      expect(await copied(page)).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
    },
  );

  test("what is not authentic is signed only after a question", async () => {
    const { url, page, app } = await open();
    await forge(url);
    await shows(page, "409");
    for (const key of ["n", "e"]) {
      await press(page, key);
      if (key === "e") await page.locator("#edit").getByText("Sign and send").click();
      await page.locator("#unproven").getByText("No signature proves").waitFor();
      // The button that has the focus.
      await press(page, "Enter");
    }
    expect(await rows(page).count()).toBe(1);
    await press(page, "n", "Tab", "Enter");
    await shows(page, "200 new_alarm");
    expect(app.outcomes()).toEqual(["signature_mismatch", "handled"]);
  });

  test("the copied tests of a good and a bad delivery pass in vitest", async () => {
    const { url, page } = await open();
    await post(url);
    await shows(page, "200");
    await press(page, "t");
    await says(page, "a test for vitest");
    partner().write("good.test.ts", await copied(page));
    await forge(url);
    await expect.poll(() => rows(page).count()).toBe(2);
    await press(page, "k");
    await shows(page, "409");
    for (const name of ["jest", "node:test", "vitest"]) {
      await press(page, "t");
      await says(page, `a test for ${name}`);
    }
    partner().write("bad.test.ts", await copied(page));
    expect(partner().vitest()).toMatch(/Tests\s+2 passed/);
  });

  test("everything works with the keyboard alone", async () => {
    const { page, app } = await open();
    const sample = () => press(page, "s", "Tab", "Enter");
    await sample();
    await shows(page, "200 new_alarm");
    await press(page, "x", "Tab", "Tab", "Enter");
    await says(page, "The next 1 authentic deliveries fail.");
    await sample();
    await shows(page, "500 new_alarm");
    await press(page, "j");
    await shows(page, "200 new_alarm");
    await press(page, "k");
    await shows(page, "500 new_alarm");
    await press(page, "/");
    await page.keyboard.type("failed");
    await expect.poll(() => rows(page).count()).toBe(1);
    await press(page, "Escape");
    expect(app.outcomes()).toEqual(["handled"]);
  });

  test("the focus follows j and k, stays when a row comes, and new rows are announced", async () => {
    const { url, page } = await open();
    for (const id of ["one", "two"]) await post(url, undefined, id);
    await expect.poll(() => rows(page).count()).toBe(2);
    const focused = () => page.evaluate<string>("document.activeElement.dataset.key ?? ''");
    await press(page, "j");
    expect(await focused()).toBe("id one");
    await press(page, "k");
    expect(await focused()).toBe("id two");
    await post(url, undefined, "three");
    await expect.poll(() => rows(page).count()).toBe(3);
    expect(await focused()).toBe("id two");
    const news = page.locator("#news[aria-live=polite]");
    await expect.poll(() => news.innerText()).toMatch(/^200 new_alarm \w+ authentic$/);
  });

  test("f saves a redacted fixture", async () => {
    const { url, page } = await open();
    await post(url);
    await shows(page, "");
    const saving = page.waitForEvent("download");
    await press(page, "f");
    const file = await (await saving).path();
    const fixture = parseFixture(readFileSync(file, "utf8"), "saved");
    expect(String(fixture.body)).not.toContain("found");
    expect(fixture.expect).toEqual({ outcome: "handled", status: 200 });
  });

  test("axe finds nothing, in both schemes, on a desktop and on a phone", async () => {
    const { url, page } = await open();
    await forge(url);
    await shows(page, "");
    const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
    // Around the page's policy, which would refuse the script.
    await page.evaluate(readFileSync(axe, "utf8"));
    for (const width of [1_280, 390]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        const found = await page.evaluate<string[]>(
          "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes[0].html))",
        );
        expect(found, `${colorScheme} ${String(width)}`).toEqual([]);
      }
    }
  });

  const PARTS = [
    "<script>hit()</script>",
    "<img src=x onerror=hit()>",
    "</textarea><script>hit()</script>",
    "</script><script>hit()</script>",
    "javascript:hit()",
    '" autofocus onfocus=hit() x="',
    "{{constructor.constructor('hit()')()}}",
    "<style>@import 'javascript:hit()'</style>",
    "<a href=javascript:hit()>x</a>",
    "\u202e<b onclick=hit()>",
    "&lt;script&gt;hit()&lt;/script&gt;",
    "<base href=//evil.example>",
  ];

  test("hostile texts in ids, headers and bodies run nothing", async () => {
    const { url, page, errors } = await open("--accept-unsigned");
    await page.evaluate("window.hit = () => { window.wasHit = true }");
    for (const part of PARTS) {
      const ascii = part.replaceAll("\u202e", "");
      const { headers } = await delivery();
      for (const name of ["X-Webhook-Id", "X-Webhook-Type"]) {
        await fetch(url, { method: "POST", headers: { ...headers, [name]: ascii }, body: "" });
      }
      await fetch(url, await delivery(undefined, part));
    }
    await says(page, `${String(3 * PARTS.length)} so far`);
    for (let at = 0; at < 3 * PARTS.length; at++) {
      await press(page, "j");
      await page.evaluate("document.querySelector('#detail details button')?.click()");
    }
    await press(page, "e");
    expect(await page.evaluate("window.wasHit")).toBe(undefined);
    const elements = "main :is(script, img, a, b, base)";
    expect(await page.locator(elements).count()).toBe(0);
    expect(page.url()).toContain("127.0.0.1");
    expect(errors).toEqual([]);
  });

  test("the page shows nothing without the token", async () => {
    const { url, address, context } = await open();
    await post(url);
    const bare = await context.newPage();
    await bare.goto(address.replace(/#.*/, ""));
    await says(bare, "The token in the address is wrong");
    expect(await rows(bare).count()).toBe(0);
  });

  test("10 000 deliveries leave 500 rows at most, and the memory flat", async () => {
    const { page, context } = await open();
    const bodyBytes = 10_000;
    const { headers, body } = await delivery(undefined, "x".repeat(bodyBytes));
    const kept = Object.entries(headers).filter(([name]) => name !== "X-Webhook-Id");
    let seq = 0;
    let limit = 2_000;
    await page.route("**/deliveries?*", async (route) => {
      const at = new Date(0).toISOString();
      const handled = { outcome: "authentic", status: 200, attempt: 1, result: "acknowledged" };
      const same = { ...handled, at, source: "gateway", bytes: bodyBytes, durationMs: 1, body };
      const said = { reasons: [], findings: [], answer: "" };
      if (route.request().url().includes("?seq=")) {
        return route.fulfill({ json: { delivery: { ...same, ...said, seq, headers: kept } } });
      }
      if (seq >= limit) return;
      const deliveries = Array.from({ length: 500 }, () => {
        const own = ["X-Webhook-Id", `id-${String(++seq)}`];
        return { ...same, ...said, seq, headers: [...kept, own] };
      });
      await route.fulfill({ json: { deliveries, last: seq } });
    });
    const session = await context.newCDPSession(page);
    const heap = async () => {
      await session.send("HeapProfiler.collectGarbage");
      return (await session.send("Runtime.getHeapUsage")).usedSize;
    };
    await page.reload();
    await says(page, "2000 so far");
    const before = await heap();
    limit = 10_000;
    // The request that got no answer is given up, and the page asks again.
    await page.reload();
    await says(page, "10000 so far");
    await expect.poll(() => rows(page).locator("small").count()).toBe(500);
    // A page that keeps each body grows by 80 MB. What else the heap holds differs by a few.
    expect((await heap()) - before).toBeLessThan(2_000 * bodyBytes);
  });

  test("after a lost connection the page has every row", async () => {
    const { url, page } = await open();
    await post(url);
    await shows(page, "");
    await page.route("**/deliveries?*", (route) => route.abort());
    // Answers the request that is waiting. The next one is lost.
    await post(url);
    await says(page, "The listener is away");
    for (let at = 0; at < 3; at++) await post(url);
    await page.unroute("**/deliveries?*");
    await says(page, "5 so far");
    await expect.poll(() => rows(page).count()).toBe(5);
  });

  test("the page shows why the app refuses an authentic delivery", async () => {
    const body = '{"error":{"code":"BODY_CONSUMED"}}';
    const target = await answeringEndpoint({ status: 503, body });
    const { url, page } = await openBefore(target.url);
    await post(url);
    await shows(page, "503 new_alarm");
    const shown = await page.locator("#detail p.bad").allInnerTexts();
    expect(shown.join("\n")).toMatch(/body_consumed.*mount the receiver before it/s);
  });
});
