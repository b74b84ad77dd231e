import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync } from "node:fs";
import net from "node:net";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { INTEGER_OPTIONS } from "../../src/options.js";
import { OUTCOMES, ruleOf, type Outcome } from "../../src/outcome.js";
import { REPOSITORY, install, pack, type InstalledPackage } from "../support/installed-package.js";

const README = readFileSync(path.join(REPOSITORY, "README.md"), "utf8");

/** The code blocks of one language, in their order. */
function snippets(language: string): string[] {
  const blocks = README.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, "gms"));
  return Array.from(blocks, ([, code = ""]) => code);
}

function snippet(language: string, marker: string): string {
  const found = snippets(language).filter((code) => code.includes(marker));
  expect(found, `one ${language} snippet with ${marker}`).toHaveLength(1);
  return found[0] ?? "";
}

/** The rows of the table whose first header cell is `title`, as cells without back-ticks. */
function table(title: string): string[][] {
  const lines = README.split("\n");
  const start = lines.findIndex((line) => line.startsWith(`| ${title} |`));
  const rows = lines.slice(start + 2);
  return rows
    .slice(
      0,
      rows.findIndex((line) => !line.startsWith("|")),
    )
    .map((row) =>
      row
        .slice(1, -1)
        .split("|")
        .map((cell) => cell.trim().replaceAll("`", "")),
    );
}

describe("the tables", () => {
  test("of the performance is the one that the benchmark has written", () => {
    const written = readFileSync(new URL("../../bench/results/table.md", import.meta.url), "utf8");
    const rows = written.split("\n").filter((line) => line.startsWith("|"));
    expect(rows.length).toBeGreaterThan(15);
    expect(README).toContain(rows.join("\n"));
    expect(README).toContain(written.split("\n")[0]);
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
  let tarball: string;
  let project: InstalledPackage;
  let server: ChildProcess | undefined;

  beforeAll(() => {
    tarball = pack();
    project = install(tarball, "module");
    for (const dependency of ["express", "@types/express", "vitest"]) project.borrow(dependency);
  });

  afterAll(() => {
    server?.kill();
    project.remove();
    rmSync(path.dirname(tarball), { recursive: true, force: true });
  });

  test("compile against the installed package", () => {
    const files = snippets("ts").map((code, index) => {
      const file = `snippet-${String(index)}.ts`;
      project.write(file, `${code}\nexport {};\n`);
      return file;
    });
    expect(files.length).toBeGreaterThanOrEqual(6);
    const options = { module: "nodenext", moduleResolution: "nodenext", resolveJsonModule: true };
    expect(project.typeCheck({ ...options, skipLibCheck: true }, files)).toBe("");
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
    const vitest = path.join(REPOSITORY, "node_modules/vitest/vitest.mjs");
    const output = project.node([vitest, "run", "--root", project.folder], { NO_COLOR: "1" });
    expect(output).toMatch(/Tests\s+1 passed/);
  });
});

async function freePort(): Promise<number> {
  const probe = net.createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as net.AddressInfo;
  probe.close();
  await once(probe, "close");
  return port;
}

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
