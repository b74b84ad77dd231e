import { describe, expect, test } from "vitest";
import { diagnose, TIMESTAMP } from "./diagnosis-capture.js";

const MEGABYTE = 1_048_576;

/** CPU seconds of this process, so that other load on the machine counts less. */
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

describe("the time of a search", () => {
  test.each([
    ["records", records(MEGABYTE)],
    ["one long text", JSON.stringify({ alarm: { text: "å\n".repeat(MEGABYTE / 4) } })],
    ["numbers", JSON.stringify(Array<number>(MEGABYTE / 2).fill(1))],
    ["bytes that are not JSON", Buffer.alloc(MEGABYTE, 0xe5)],
    ["a zip bomb", Buffer.concat([Buffer.of(0x1f, 0x8b), Buffer.alloc(MEGABYTE)])],
    ["nesting", `${"[".repeat(MEGABYTE / 2)}${"]".repeat(MEGABYTE / 2)}`],
  ])("diagnoseSignature stays within its budget for 1 MB of %s", async (_, body) => {
    const secret = ["whsec_one", "whsec_two", "whsec_three"];
    let isComplete = true;
    const seconds = await cpuOf(async () => {
      ({ isComplete } = (await diagnose({ secret: "whsec_unknown" }, { secret, body })).tried);
    });
    expect(isComplete).toBe(false);
    // Takes 0.5 to 1 s on an idle machine.
    expect(seconds).toBeLessThan(4);
  });

  test("a search that could not try every moved timestamp is not called complete", async () => {
    const { timestamp, body } = {
      timestamp: String(Number(TIMESTAMP) + 3_599),
      body: "x".repeat(40_000),
    };
    const change = { "X-Webhook-Timestamp": TIMESTAMP };
    const { findings, tried } = await diagnose({ timestamp, body }, { change });
    expect(findings.map(({ code }) => code)).toEqual(["unexplained"]);
    expect(tried.isComplete).toBe(false);
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
