import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { listenPage } from "../../docs/listen-page.js";
import { startCommand } from "../support/cli/cli-io.js";
import { REPOSITORY } from "../support/package/installed-package.js";

test("listen --page prints one address with a token of 128 bits, and serves the page on a port of its own", async () => {
  const command = startCommand(["listen", "--port", "0", "--page"]);
  const [, url = ""] = await command.says(/listening on (\S+)/);
  const [, address = "", token] = await command.says(/the page: (http:\S+#([0-9a-f]{32}))\n/);
  expect(token).toHaveLength(32);
  expect(new URL(address).port).not.toBe(new URL(url).port);
  const answer = await fetch(address);
  const html = await answer.text();
  expect(html).toContain(`data-url="${url}"`);
  expect(html).toContain("<option>iban_hacked</option>");
  expect(Buffer.byteLength(html)).toBeLessThanOrEqual(30_000);
  const hashOf = (tag: string): string => {
    const [, text = ""] = new RegExp(`<${tag}>([^]*?)</${tag}>`).exec(html) ?? [];
    return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  };
  expect(answer.headers.get("content-security-policy")).toBe(
    [
      "default-src 'none'",
      `script-src ${hashOf("script")}`,
      `style-src ${hashOf("style")}`,
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
    ].join("; "),
  );
  // The port of the deliveries may be public, so it has no page and no list.
  const { status } = await fetch(new URL("/deliveries", url), { method: "POST" });
  expect(status).toBe(409);
  expect(await command.stop()).toBe(130);
  await expect(fetch(address)).rejects.toThrow();
});

test("without --page there is no second server", async () => {
  const command = startCommand(["listen", "--port", "0", "--json"]);
  await command.says(/"listening"/);
  expect(command.stdout().trim().split("\n")).toHaveLength(1);
});

test("the page is that of its sources", async () => {
  const made = readFileSync(path.join(REPOSITORY, "cli/page/page-html.ts"), "utf8");
  expect(made).toBe(await listenPage());
});
