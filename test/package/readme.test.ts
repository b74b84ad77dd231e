import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import net from "node:net";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { INTEGER_OPTIONS } from "../../src/options/options.js";
import { OUTCOMES, ruleOf, type Outcome } from "../../src/answer/outcome.js";
import { freePort } from "../support/free-port.js";
import { readMarkdown } from "../support/package/markdown.js";
import { installForPartner, type PartnerProject } from "../support/package/partner-project.js";

const README = readMarkdown("README.md");
const { snippet, table } = README;

describe("the tables", () => {
  test("of the performance is the one that the benchmark has written", () => {
    const written = readFileSync(new URL("../../bench/results/table.md", import.meta.url), "utf8");
    const rows = written.split("\n").filter((line) => line.startsWith("|"));
    expect(rows.length).toBeGreaterThan(15);
    expect(README.text).toContain(rows.join("\n"));
    expect(README.text).toContain(written.split("\n")[0]);
  });

  test("list every outcome with its statuses", () => {
    const written = table("outcome").map(([outcome, , status, rejected]) => [
      outcome,
      status,
      rejected,
    ]);
    const actual = (Object.keys(OUTCOMES) as Outcome[]).map((outcome) => {
      const rule = ruleOf(outcome);
      const allow = outcome === "method_not_allowed" ? " + Allow" : "";
      const retryAfter = rule.retryAfterMs === undefined ? "" : " + Retry-After";
      const rejected = rule.rejectStatus === undefined ? "" : String(rule.rejectStatus);
      return [outcome, `${String(rule.status)}${allow}${retryAfter}`, rejected];
    });
    expect(written).toEqual(actual);
  });

  test("give the default of every whole-number option", () => {
    const written = Object.fromEntries(
      table("option").map(([name = "", value = ""]) => [name, Number(value.replaceAll(" ", ""))]),
    );
    for (const [name, { fallback }] of Object.entries(INTEGER_OPTIONS)) {
      expect(written[name], name).toBe(fallback);
    }
  });
});

describe("the snippets", () => {
  let project: PartnerProject;
  let server: ChildProcess | undefined;

  beforeAll(() => {
    project = installForPartner();
  });

  afterAll(() => {
    server?.kill();
    project.remove();
  });

  test("compile against the installed package", () => {
    const snippets = README.snippets("ts");
    expect(snippets.length).toBeGreaterThanOrEqual(7);
    expect(project.compile(snippets)).toBe("");
  });

  test("the first fits on a screen", () => {
    expect(snippet("ts", "// server.ts").trim().split("\n").length).toBeLessThanOrEqual(16);
  });

  test("the first runs as it stands, and the command gets a 200 from it", async () => {
    const port = await freePort();
    const atPort = (text: string) => text.replaceAll("3000", String(port));
    project.write("server.ts", atPort(snippet("ts", "// server.ts")));
    const start = snippet("sh", "npx tsx server.ts");
    const [, secret = ""] = /GATEWAY_WEBHOOK_SECRET=(\S+)/.exec(start) ?? [];
    server = spawn(
      process.execPath,
      ["--import", import.meta.resolve("tsx"), path.join(project.folder, "server.ts")],
      {
        env: { PATH: process.env["PATH"], GATEWAY_WEBHOOK_SECRET: secret },
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    await listening(port);
    const command = atPort(snippet("sh", "openssl dgst"));
    const sendTwice = `${command}\nprintf '\\n'\n${command.slice(command.indexOf("curl"))}`;
    const answers = execFileSync("bash", ["-euc", sendTwice], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    expect(answers.match(/^HTTP\/1\.1 200 OK/gm)).toHaveLength(2);
    expect(answers).toContain('{"outcome":"handled"}');
    expect(answers).toContain('{"outcome":"duplicate"}');
  });

  test("the fixture test passes in the partner's runner", () => {
    project.write("alarm.test.ts", snippet("ts", "// alarm.test.ts"));
    expect(project.vitest("alarm.test.ts")).toMatch(/Tests\s+1 passed/);
  });
});

/** Resolves when something accepts connections on `port`. */
async function listening(port: number): Promise<void> {
  for (;;) {
    const socket = net.connect(port, "127.0.0.1");
    const connected = await new Promise<boolean>((resolve) => {
      socket.once("connect", () => {
        resolve(true);
      });
      socket.once("error", () => {
        resolve(false);
      });
    });
    socket.destroy();
    if (connected) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
