import { describe, expect, test } from "vitest";
import { diagnose } from "./diagnosis-capture.js";

const MEGABYTE = 1_048_576;

const record = {
  text: "Åsa <b> & co / å",
  payload: '{"a":"\\u00e5"}',
  z: 1,
  a: [1, 2, { b: null }],
};
const records = (bytes: number) =>
  JSON.stringify({ alarm: Array<unknown>(Math.floor(bytes / 90)).fill(record) });

describe("a search through a large body", () => {
  test.each([
    ["records", records(MEGABYTE)],
    ["one long text", JSON.stringify({ alarm: { text: "å\n".repeat(MEGABYTE / 4) } })],
    ["numbers", JSON.stringify(Array<number>(MEGABYTE / 2).fill(1))],
    ["bytes that are not JSON", Buffer.alloc(MEGABYTE, 0xe5)],
    ["a zip bomb", Buffer.concat([Buffer.of(0x1f, 0x8b), Buffer.alloc(MEGABYTE)])],
    ["nesting", `${"[".repeat(MEGABYTE / 2)}${"]".repeat(MEGABYTE / 2)}`],
  ])("diagnoseSignature tries at most a thousand signatures for 1 MB of %s", async (_, body) => {
    const secret = ["whsec_one", "whsec_two", "whsec_three"];
    // A search that takes the square of the body's length does not end within the time of a test.
    const { tried } = await diagnose({ secret: "whsec_unknown" }, { secret, body });
    expect(tried.signatures).toBeLessThan(1_000);
  });

  test("diagnoseSignature still finds a re-serialized body of 1 MB", async () => {
    const body = records(MEGABYTE);
    const pretty = JSON.stringify(JSON.parse(body), null, 2);
    expect((await diagnose({ body: pretty }, { body })).findings[0]?.code).toBe(
      "body_reserialised",
    );
    expect((await diagnose({ body }, { body: pretty })).findings[0]?.code).toBe(
      "body_reserialised",
    );
  });

  test("diagnoseSignature tries only a few signatures for a body of 30 MB", async () => {
    const body = Buffer.alloc(30 * MEGABYTE, 0x61);
    const { tried, findings } = await diagnose({ secret: "whsec_unknown" }, { body });
    expect(tried.signatures).toBeLessThan(30);
    expect(findings.map(({ code }) => code)).toEqual(["body_too_large", "unexplained"]);
    expect(findings[1]?.message).toContain("too large to try more");
  });
});
