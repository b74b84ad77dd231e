import { existsSync } from "node:fs";
import { chromium, type Browser } from "playwright-core";

/** Debian's Chromium. Undefined: it is not installed. */
const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find((file) =>
  existsSync(file),
);

/** For `describeService`. */
export const missingChromium = CHROMIUM === undefined ? "chromium is not installed" : undefined;

/** Milliseconds. Playwright's own limit of half a minute is too short for a slow machine beside other work. */
export const PATIENCE_MS = 120_000;

/** Starts Chromium without a window. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: CHROMIUM ?? "chromium",
    // In a container /dev/shm often has 64 MB, and a page that needs more crashes.
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
    timeout: PATIENCE_MS,
  });
}
