import { existsSync } from "node:fs";
import { chromium, type Browser } from "playwright-core";

/** Debian's Chromium. Undefined: it is not installed. */
const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find((file) =>
  existsSync(file),
);

/** For `describeService`. */
export const missingChromium = CHROMIUM === undefined ? "chromium is not installed" : undefined;

/** Starts Chromium without a window. */
export function launchChromium(): Promise<Browser> {
  const executablePath = CHROMIUM ?? "chromium";
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
}
