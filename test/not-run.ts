import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Reporter, Vitest } from "vitest/node";

const TESTS = fileURLToPath(new URL(".", import.meta.url));

/** Ends a run of the quick tests alone with a line that says what it left out, and which command runs that. */
export class NotRun implements Reporter {
  #isQuickOnly = false;

  onInit({ projects }: Vitest): void {
    this.#isQuickOnly = projects.every(({ name }) => name.startsWith("quick"));
  }

  onTestRunEnd(): void {
    if (!this.#isQuickOnly) return;
    const files = readdirSync(TESTS, { recursive: true, encoding: "utf8" });
    const slow = files.filter((file) => file.endsWith(".slow.test.ts"));
    process.stdout.write(
      ` Not run: ${String(slow.length)} files *.slow.test.ts (databases, brokers, other runtimes, a browser, ` +
        "the packed package). npm run test:all runs them.\n\n",
    );
  }
}
