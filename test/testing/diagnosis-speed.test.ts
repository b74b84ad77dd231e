import { describe, expect, test } from "vitest";
import { diagnose } from "./diagnosis-capture.js";

const MEGABYTE = 1_048_576;

/** Seconds of this process's CPU, so that what else the machine does counts less. */
async function cpuOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

const record = {
  text: "Åsa <b> & co / å",
  payload: '{"a":"\\u00e5"}',
  z: 1,
  a: [1, 2, { b: null }],
};
const records = (bytes: number) =>
  JSON.stringify({ alarm: Array<unknown>(Math.floor(bytes / 90)).fill(record) });

describe("the time of a search is bounded", () => {
  test.each([
    ["records", records(MEGABYTE)],
    ["one long text", JSON.stringify({ alarm: { text: "å\n".repeat(MEGABYTE / 4) } })],
    ["numbers", JSON.stringify(Array<number>(MEGABYTE / 2).fill(1))],
    ["no JSON", Buffer.alloc(MEGABYTE, 0xe5)],
    ["a zip bomb", Buffer.concat([Buffer.of(0x1f, 0x8b), Buffer.alloc(MEGABYTE)])],
    ["nesting", `${"[".repeat(MEGABYTE / 2)}${"]".repeat(MEGABYTE / 2)}`],
  ])("for 1 MB of %s", async (_, body) => {
    const secret = ["whsec_one", "whsec_two", "whsec_three"];
    let isComplete = true;
    const seconds = await cpuOf(async () => {
      ({ isComplete } = (await diagnose({ secret: "whsec_unknown" }, { secret, body })).tried);
    });
    expect(isComplete).toBe(false);
    // Half a second to one on the machine that it was written on.
    expect(seconds).toBeLessThan(4);
  });

  test("and what is likely is still found in 1 MB", async () => {
    const body = records(MEGABYTE);
    const pretty = JSON.stringify(JSON.parse(body), null, 2);
    expect((await diagnose({ body: pretty }, { body })).findings[0]?.code).toBe(
      "body_reserialised",
    );
    expect((await diagnose({ body }, { body: pretty })).findings[0]?.code).toBe(
      "body_reserialised",
    );
  });

  test("of 30 MB, no more is tried than the budget has", async () => {
    const body = Buffer.alloc(30 * MEGABYTE, 0x61);
    const { tried, findings } = await diagnose({ secret: "whsec_unknown" }, { body });
    expect(tried.signatures).toBeLessThan(25);
    expect(findings.map(({ code }) => code)).toEqual(["body_too_large", "unexplained"]);
    expect(findings[1]?.message).toContain("too large to try more");
  });
});
