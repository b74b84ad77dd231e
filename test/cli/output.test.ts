import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createStyle, type Output } from "../../cli/terminal/command-io.js";
import { renderJunit } from "../../cli/doctor/junit-report.js";
import { nearestName } from "../../cli/options/nearest-name.js";
import { printable, printableLine } from "../../cli/terminal/printable.js";
import { createProgressBar } from "../../cli/terminal/progress-bar.js";
import { renderTable } from "../../cli/terminal/table.js";

function output(
  columns?: number,
  isTTY = columns !== undefined,
): Output & { readonly written: () => string } {
  let written = "";
  return {
    write: (text) => {
      written += text;
    },
    isTTY,
    columns,
    style: createStyle(isTTY),
    written: () => written,
  };
}

/** Reports what an XML parser would refuse. Knows only the XML that a report uses. */
function xmlFault(xml: string): string | undefined {
  const open: string[] = [];
  const token = /<\?xml [^>]*\?>|<(\/?)([a-z]+)((?: [a-z]+="[^"<]*")*)(\/?)>|([^<>]+)/gy;
  while (token.lastIndex < xml.length) {
    const at = token.lastIndex;
    const match = token.exec(xml);
    if (match === null) return `no XML at ${xml.slice(at, at + 40)}`;
    const [whole, close, name, , empty] = match;
    if (/&(?!(amp|lt|gt|quot|#10|#9);)/.test(whole)) return `no entity in ${whole}`;
    // Char of XML 1.0.
    if (/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u.test(whole)) return "no Char";
    if (name === undefined || empty === "/") continue;
    if (close === "/" && open.pop() !== name) return `</${name}> closes nothing`;
    if (close === "") open.push(name);
  }
  return open.length > 0 ? `${open.join()} is not closed` : undefined;
}

describe("a JUnit report", () => {
  test("a JUnit report counts its cases and shows the failures", () => {
    const xml = renderJunit("suite", [
      { group: "must.once", name: "a", ms: 1500, result: { state: "passed" } },
      {
        group: "must.once",
        name: 'b "<&>"',
        ms: 0,
        result: { state: "failed", message: "first\nsecond", details: "]]>\u0000\u001b" },
      },
      { group: "should", name: "c", ms: 0, result: { state: "skipped", message: "not seen" } },
    ]);
    expect(xmlFault(xml)).toBeUndefined();
    expect(xml).toContain('tests="3" failures="1" errors="0" skipped="1" time="1.500"');
    expect(xml).toContain('name="b &quot;&lt;&amp;&gt;&quot;"');
    expect(xml).toContain('<failure message="first&#10;second">]]&gt;</failure>');
    expect(xml).toContain('<skipped message="not seen"/>');
  });

  test("a JUnit report is well-formed XML for any answer", () => {
    const text = fc.string({ unit: "binary" });
    const lone = fc.constantFrom("\ud800", "\udfff", "<", "]]>", '"', "\r\n", "\u0085", "\ufffe");
    const any = fc.array(fc.oneof(text, lone)).map((parts) => parts.join(""));
    fc.assert(
      fc.property(any, any, (message, details) => {
        const result = { state: "failed", message, details } as const;
        const xml = renderJunit(message, [{ group: details, name: message, ms: 1, result }]);
        expect(xmlFault(xml)).toBeUndefined();
      }),
    );
  });

  test("the XML check of the JUnit tests finds errors", () => {
    for (const broken of [
      "<a>",
      "<a></b>",
      "<a>&</a>",
      '<a b="<"/>',
      "<a>\u0000</a>",
      "<a b='1'/>",
    ]) {
      expect(xmlFault(broken)).toBeDefined();
    }
  });
});

describe("a table", () => {
  const columns = [
    { title: "Name", isFlexible: true },
    { title: "ms", align: "right" },
  ] as const;
  const rows = [
    ["a name that is rather long", "1.0"],
    ["short", { text: "200.5", format: "red" }],
  ] as const;

  test("a table is complete in a pipe", () => {
    expect(renderTable(columns, rows, output())).toEqual([
      "Name                           ms",
      "a name that is rather long    1.0",
      "short                       200.5",
    ]);
  });

  test("a table fits the width of a terminal, and has colours there", () => {
    const lines = renderTable(columns, rows, output(22));
    expect(lines).toEqual([
      "\u001b[2mName           \u001b[22m  \u001b[2m   ms\u001b[22m",
      "a name that is…    1.0",
      "short            \u001b[31m200.5\u001b[39m",
    ]);
  });

  test("a table without rows shows only its header", () => {
    expect(renderTable(columns, [], output())).toEqual(["Name  ms"]);
  });
});

describe("a progress bar", () => {
  test("a progress bar is drawn on one line of a terminal and removed", () => {
    const err = output(30);
    const bar = createProgressBar(err, 2);
    bar.advance("the first");
    bar.advance();
    bar.end();
    const drawn = err.written().split("\r\u001b[2K");
    expect(drawn).toHaveLength(5);
    expect(drawn[2]).toMatch(/^█{12}░{12} 1\/2/);
    expect(drawn.every((line) => line.length < 30)).toBe(true);
    expect(drawn.at(-1)).toBe("");
  });

  test("a progress bar lets a line stay above it, which is written without a bar too", () => {
    const err = output(30);
    const bar = createProgressBar(err, 2);
    bar.advance("the first");
    bar.say("it takes long");
    expect(err.written().split("\r\u001b[2K").slice(3)).toEqual([
      "it takes long\n",
      expect.stringMatching(/^█{12}░{12} 1\/2/),
    ]);
    const pipe = output(undefined);
    createProgressBar(pipe, 9).say("it takes long");
    expect(pipe.written()).toBe("it takes long\n");
  });

  test("a progress bar assumes 80 columns for a terminal of unknown width", () => {
    const err = output(undefined, true);
    createProgressBar(err, 2).advance("x".repeat(200));
    const drawn = err.written().split("\r\u001b[2K");
    expect(drawn.map((line) => line.length)).toEqual([0, 29, 79]);
  });

  test("a progress bar escapes control characters in the name of a file", () => {
    const err = output(80);
    createProgressBar(err, 2).advance("a\u001b[2J\u009b\nb");
    expect(err.written()).toContain("a\\u001b[2J\\u009b\\nb");
    expect(err.written().replaceAll("\r\u001b[2K", "")).not.toMatch(/\p{Cc}/u);
  });

  test.each([
    ["a pipe", undefined, 9],
    ["one step", 80, 1],
  ])("a progress bar is not drawn for %s", (_why, width, total) => {
    const err = output(width);
    const bar = createProgressBar(err, total);
    bar.advance("x");
    bar.end();
    expect(err.written()).toBe("");
  });
});

test("foreign text cannot control the terminal", () => {
  expect(printable("a\tb\nc\u001b[31m\u009b\u202e\r")).toBe(
    "a  b\nc\\u001b[31m\\u009b\\u202e\\u000d",
  );
  expect(printableLine("a\nb")).toBe("a\\nb");
  expect(printableLine("abcdef", 4)).toBe("abc…");
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(printableLine(text)).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{DI}]/u);
    }),
  );
});

test("text of any script is printed unchanged", () => {
  const text = "Åsa Öberg, Þórr, Ελένη, 日本語, עברית, العربية, हिन्दी 👋";
  expect(printable(text)).toBe(text);
});

test.each([
  ["tampr", "tamper"],
  ["CONCURENT", "concurrent"],
  ["follow", "follow-retries"],
  ["zzz", undefined],
  ["", undefined],
])("the suggestion for the misspelt name %j is %j", (given, expected) => {
  expect(nearestName(given, ["tamper", "concurrent", "follow-retries", "id"])).toBe(expected);
});
