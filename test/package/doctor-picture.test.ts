import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { ansiRuns } from "../../docs/terminal/ansi-runs.js";
import { shortenedReport } from "../../docs/terminal/shortened-report.js";
import { terminalSvg } from "../../docs/terminal/terminal-svg.js";
import { REPOSITORY } from "../support/package/installed-package.js";
import { xmlFault } from "../support/xml-fault.js";

const PICTURE = readFileSync(path.join(REPOSITORY, "docs/doctor.svg"), "utf8");

test("the picture of doctor is well-formed, and every text is inside it", () => {
  expect(xmlFault(PICTURE)).toBeUndefined();
  const [, width, height] = /viewBox="0 0 ([0-9]+) ([0-9]+)"/.exec(PICTURE) ?? [];
  const texts = [...PICTURE.matchAll(/ x="([0-9.]+)" y="([0-9]+)" textLength="([0-9.]+)"/g)];
  expect(texts.length).toBeGreaterThan(40);
  for (const [, x, y, length] of texts) {
    expect(Number(x)).toBeGreaterThan(0);
    expect(Number(x) + Number(length)).toBeLessThan(Number(width));
    expect(Number(y)).toBeLessThan(Number(height));
  }
});

test("the picture of doctor describes itself in words and has colours for a dark background", () => {
  expect(PICTURE).toContain('role="img" aria-labelledby="title desc"');
  expect(PICTURE).toMatch(/<desc id="desc">\d+ cases.* \d+ passed, 8 not judged\.<\/desc>/);
  const [light = "", dark = ""] = PICTURE.split("@media (prefers-color-scheme: dark)");
  const used = new Set(PICTURE.match(/(?<=class=")[a-z]+/g));
  for (const name of [...used].filter((one) => one !== "bold")) {
    expect(light).toContain(`.${name} { fill:`);
    expect(dark).toContain(`.${name} { fill:`);
  }
});

test("the picture of doctor names no machine path, no secret and no signature", () => {
  expect(PICTURE).not.toMatch(/\/(?:home|root|tmp|work)\/|whsec_|v1=[0-9a-f]{6}/);
});

test("markup in a terminal's output is drawn as text", () => {
  const lines = ['<a href="x">&amp;</a>'];
  const svg = terminalSvg({ title: "a & b", description: "<", lines });
  expect(xmlFault(svg)).toBeUndefined();
  expect(svg).toContain('>&lt;a href="x"&gt;&amp;amp;&lt;/a&gt;</text>');
});

test("coloured runs are drawn in the terminal's columns", () => {
  expect(
    ansiRuns("  \u001b[32m✓\u001b[39m it is \u001b[1m\u001b[31mred\u001b[39m\u001b[22m"),
  ).toEqual([
    { text: "✓", column: 2, classes: ["green"] },
    { text: "it is", column: 4, classes: [] },
    { text: "red", column: 10, classes: ["bold", "red"] },
  ]);
});

test("an unknown escape code is refused and not drawn", () => {
  expect(() => ansiRuns("\u001b[45mpink")).toThrow("45");
  expect(() => ansiRuns("\u001b[2Kgone")).toThrow();
});

test("passed checks are counted, and a failed check keeps all of its lines", () => {
  const passed = (name: string): string =>
    `  \u001b[32m✓\u001b[39m ${name}\n      note  of ${name}`;
  const failed = "  \u001b[31m✗ d\u001b[39m\n      why   because";
  const groups = ["url", `one\n${["a", "b", "c", "e"].map(passed).join("\n")}\n${failed}`];
  const lines = shortenedReport([...groups, `two\n${passed("f")}`, "✗ the end\n"].join("\n\n"));
  expect(lines.join("\n")).toBe(
    [
      "url",
      "",
      `one\n${passed("a")}\n${passed("b")}\n${failed}`,
      "\u001b[2m  … 2 more passed\u001b[22m",
      "",
      `two\n${passed("f")}`,
      "",
      "✗ the end",
    ].join("\n"),
  );
});
