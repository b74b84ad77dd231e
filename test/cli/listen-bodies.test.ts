import { networkInterfaces } from "node:os";
import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { sampleAlarm } from "../../kit/samples/sample-alarm.js";
import { signedDelivery } from "../../kit/signed-delivery.js";
import { startCommand, type TestWorld } from "../support/cli/cli-io.js";
import { answeringEndpoint } from "../support/cli/cli-endpoint.js";
import { TEST_SECRET } from "../support/deliveries.js";

async function start(...argv: readonly string[]) {
  const command = startCommand(["listen", "--port", "0", "--json", ...argv]);
  const [url] = await command.says(/http:\/\/[^/]+\//);
  const entry = async (): Promise<unknown> => {
    const [line = ""] = await command.says(/\{"event":"delivery".*\}/);
    return JSON.parse(line);
  };
  return { url: String(url), entry };
}

/** A delivery of about this many bytes. */
function alarm(bytes: number, secret = TEST_SECRET) {
  return signedDelivery({ alarm: sampleAlarm({ text: "x".repeat(bytes) }), secret });
}

test("a body over the limit is recognized by its length and not forwarded", async () => {
  const app = await answeringEndpoint({ status: 200 });
  const { url, entry } = await start("--max-body-bytes", "2000", "--forward", app.url);
  expect((await fetch(url, await alarm(2_000))).status).toBe(409);
  expect(await entry()).toMatchObject({
    outcome: "body_too_large",
    status: 409,
    bytes: 0,
    findings: [],
    reasons: [
      expect.stringContaining("larger than the limit allows"),
      expect.stringContaining("Usual causes: deliveries have grown: raise maxBodyBytes"),
    ],
  });
  expect(app.seen).toEqual([]);
});

test("a long body within the limit is not named as the reason for a bad signature", async () => {
  const { url, entry } = await start("--max-body-bytes", "3000000");
  expect((await fetch(url, await alarm(2_000_000, "another secret"))).status).toBe(409);
  const { outcome, findings } = (await entry()) as {
    outcome: string;
    findings: readonly { code: string }[];
  };
  expect(outcome).toBe("signature_mismatch");
  expect(findings).not.toEqual([]);
  expect(findings.map(({ code }) => code)).not.toContain("body_too_large");
});

/** A delivery with exactly this body. */
function bodyOf(body: string | Uint8Array) {
  return signedDelivery({ type: "new_alarm", body, secret: TEST_SECRET });
}

async function shownBody(body: string, world: TestWorld = {}) {
  const command = startCommand(["listen", "--port", "0", "--show-body"], world);
  const [url] = await command.says(/http:\/\/[^/]+\//);
  await fetch(String(url), await bodyOf(body));
  await command.says(/The body:[^]*\n$/);
  const lines = stripVTControlCharacters(command.stdout()).split("\n");
  return lines.slice(lines.findIndex((line) => line.includes("The body:")) + 1, -1);
}

const FORGED = "12:00:00  200 handled             new_alarm  forged  10 bytes, 1 ms";

test("a body cannot forge a line of the listing: each of its lines is indented", async () => {
  const lines = await shownBody(`{}\n${FORGED}\r\n${FORGED}\u2028${FORGED}\u2029${FORGED}\n\n`);
  expect(lines).toEqual([
    "          │ {}",
    `          │ ${FORGED}\\u000d`,
    `          │ ${FORGED}\\u2028${FORGED}\\u2029${FORGED}`,
    "          │ ",
    "          │ ",
  ]);
});

test("a long line of a body is broken before the terminal would wrap it", async () => {
  const text = `${"日".repeat(60)}${FORGED.repeat(3)}`;
  const lines = await shownBody(text, { isTTY: true, columns: 60 });
  expect(lines.length).toBeGreaterThan(6);
  for (const line of lines) {
    expect(line).toMatch(/^ {10}│ /);
    // A character of an East Asian script takes two columns.
    expect(line.replaceAll("日", "..").length).toBeLessThanOrEqual(60);
  }
  expect(lines.map((line) => line.slice(12)).join("")).toBe(text);
});

test("a terminal of a few columns still shows a body", async () => {
  const lines = await shownBody("abcdef", { isTTY: true, columns: 5 });
  expect(lines).toEqual(["          │ abcdef"]);
});

const INVISIBLE = "\u061c\u200b\u200d\u200e\u202e\u2028\u2029\u2060\u2066\ufeff\u{e0041}";
const SPELT =
  "\\u061c\\u200b\\u200d\\u200e\\u202e\\u2028\\u2029\\u2060\\u2066\\ufeff\\udb40\\udc41";

test("invisible characters and changes of the writing direction are escaped, also in JSON", async () => {
  expect(await shownBody(`a${INVISIBLE}b`)).toEqual([`          │ a${SPELT}b`]);

  const command = startCommand(["listen", "--port", "0", "--json", "--show-body"]);
  const [url] = await command.says(/http:\/\/[^/]+\//);
  await fetch(String(url), await bodyOf(`a${INVISIBLE}b`));
  const [line = ""] = await command.says(/\{"event":"delivery".*\}/);
  expect(line).toContain(`"body":"a${SPELT}b"`);
  expect(JSON.parse(line)).toMatchObject({ body: `a${INVISIBLE}b` });
});

const hasIpv6 = Object.values(networkInterfaces())
  .flat()
  .some((network) => network?.address === "::1");

test.runIf(hasIpv6)("an IPv6 address is a host too", async () => {
  const { url } = await start("--host", "::1");
  expect(url).toMatch(/^http:\/\/\[::1\]:\d+\/$/);
  expect((await fetch(url, await alarm(1))).status).toBe(200);
});
