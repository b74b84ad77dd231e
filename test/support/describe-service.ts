import { describe, expect, it } from "vitest";

/**
 * `describe` for tests that need a real server. If `missing` names what is absent, they fail on CI and are reported
 * loudly elsewhere.
 */
export function describeService(
  title: string,
  missing: string | undefined,
  body: () => void,
): void {
  if (missing === undefined) {
    describe(title, body);
    return;
  }
  const message = `${missing}: these tests did NOT run`;
  describe(title, () => {
    it("finds the server that it needs", (context) => {
      process.stderr.write(`\n${title}: ${message}\n`);
      expect(process.env["CI"], message).not.toBe("true");
      context.skip(message);
    });
  });
}
