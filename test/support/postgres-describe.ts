import { describe, expect, it } from "vitest";
import { postgresBinaries } from "./postgres-server.js";

const MISSING =
  "initdb and postgres were not found: the tests of the PostgreSQL stores did NOT run";

/** `describe` for tests that start a PostgreSQL server. Without one they fail on CI, and say so elsewhere. */
export function describePostgres(title: string, body: () => void): void {
  if (postgresBinaries !== undefined) {
    describe(title, body);
    return;
  }
  describe(title, () => {
    it("has a PostgreSQL server to run on", (context) => {
      process.stderr.write(`\n${MISSING}\n`);
      expect(process.env["CI"], MISSING).not.toBe("true");
      context.skip(MISSING);
    });
  });
}
