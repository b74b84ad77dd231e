import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isGlob, parseGlob } from "../../kit/fixtures/glob.js";

const matches = (pattern: string, file: string) => parseGlob(pattern).matches(file);

/** The meaning of a pattern without braces: tries every way, segment by segment. */
function matchesSegments(pattern: readonly string[], file: readonly string[]): boolean {
  const [segment, ...rest] = pattern;
  const [name, ...below] = file;
  if (segment === undefined) return name === undefined;
  if (segment === "**" && rest.length === 0) return name !== undefined;
  if (segment === "**") {
    return matchesSegments(rest, file) || (name !== undefined && matchesSegments(pattern, below));
  }
  return name !== undefined && matchesName(segment, name) && matchesSegments(rest, below);
}

function matchesName(pattern: string, name: string): boolean {
  if (pattern === "") return name === "";
  if (pattern.startsWith("*")) {
    return (
      matchesName(pattern.slice(1), name) || (name !== "" && matchesName(pattern, name.slice(1)))
    );
  }
  const isSame = pattern.startsWith("?") || name.startsWith(pattern.charAt(0));
  return name !== "" && isSame && matchesName(pattern.slice(1), name.slice(1));
}

const nameOf = (...characters: string[]) =>
  fc.string({ unit: fc.constantFrom(...characters), minLength: 1, maxLength: 4 });
const files = fc.array(nameOf("a", "b", "-"), { minLength: 1, maxLength: 4 });
const patterns = fc
  .array(fc.oneof(nameOf("a", "b", "*", "?"), fc.constant("**")), { minLength: 1, maxLength: 4 })
  // The first segment contains a wildcard, so that the pattern has no folder part.
  .filter(([first = ""]) => isGlob(first));

describe("parseGlob", () => {
  it("a glob matches the same files as a model that tries every way", () => {
    fc.assert(
      fc.property(patterns, files, (pattern, file) => {
        const expected = matchesSegments(pattern, file);
        expect(matches(pattern.join("/"), file.join("/"))).toBe(expected);
      }),
      { numRuns: 3_000 },
    );
  });

  it("a glob matches a file by its own path with any segment replaced by a wildcard", () => {
    fc.assert(
      fc.property(files, fc.nat(3), (file, at) => {
        const name = file[at % file.length] ?? "";
        const open = file.map((segment) => (segment === name ? "*" : segment));
        expect(matches(`**/${open.join("/")}`, file.join("/"))).toBe(true);
        expect(matches(`{${file.join("/")},other}`, file.join("/"))).toBe(true);
      }),
    );
  });

  it.each([
    ["*.json", "a.json", true],
    ["*.json", "a/b.json", false],
    ["*.json", "a.jsonx", false],
    ["*.json", "axjson", false],
    ["**/*.json", "a.json", true],
    ["**/*.json", "a/b/c.json", true],
    ["**", "a/b", true],
    ["{a,b}-?.json", "b-1.json", true],
    ["{a,b}-?.json", "c-1.json", false],
    ["{a,b/{c,d}}.json", "b/d.json", true],
    ["{a,**/b}.json", "x/y/b.json", true],
    ["*{.json", "a{.json", true],
    ["*}.json", "a}.json", true],
    ["*[a].json", "x[a].json", true],
    ["*[a].json", "xa.json", false],
    ["*+(b)|^$\\.json", "a+(b)|^$\\.json", true],
    ["?.json", "é.json", true],
    ["?.json", "🔐.json", true],
    ["**/*.json", ".hidden.json", false],
    ["**/*.json", ".hidden/a.json", false],
    ["{.hidden,*}.json", ".hidden.json", false],
  ])("the glob %s against the file %s gives %s", (pattern, file, expected) => {
    expect(matches(pattern, file)).toBe(expected);
  });

  it.each([
    ["*.json", "."],
    ["a/b/*.json", "a/b/"],
    ["a/b-{c,d}/e.json", "a/"],
    ["/*.json", "/"],
    ["C:/a/?.json", "C:/a/"],
    ["../a/**/b.json", "../a/"],
  ])("the glob %s searches the folder %s", (pattern, folder) => {
    expect(parseGlob(pattern).folder).toBe(folder);
  });

  it("isGlob recognizes wildcards", () => {
    expect(["*", "a?", "{a,b}", "a", "[a]", "a.json"].map(isGlob)).toEqual([
      true,
      true,
      true,
      false,
      false,
      false,
    ]);
  });
});
