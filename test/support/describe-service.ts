import { describe, expect, it } from "vitest";

/**
 * `describe` for tests on a real server. Where `missing` says what there is none of, they fail on CI,
 * and say so loudly elsewhere.
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
    it("has the server that it needs", (context) => {
      process.stderr.write(`\n${title}: ${message}\n`);
      expect(process.env["CI"], message).not.toBe("true");
      context.skip(message);
    });
  });
}
