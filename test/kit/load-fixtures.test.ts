import { mkdir, readFile, symlink } from "node:fs/promises";
import { join, relative } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  FixtureError,
  formatFixture,
  parseFixture,
  type Fixture,
} from "../../kit/fixtures/fixture.js";
import { isGlob, parseGlob } from "../../kit/fixtures/load-fixtures.js";
import { loadFixtures } from "../../kit/fixtures/load-fixtures.js";
import { fixtures, fixturesFolder } from "../support/fixtures.js";
import { rejectionOf, thrownBy } from "../support/thrown.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const FILES = [
  ...["b.json", "a.json", "a-1.json", "c.txt", ".hidden.json"],
  ...["deep/d.json", "deep/deeper/e.json", ".git/f.json", "{odd}/g.json"],
];

const made = temporaryFolder(afterAll);
let folder: string;
const inFolder = made.at;
const namesOf = async (paths: string | readonly string[]) =>
  (await loadFixtures(paths)).map(({ name }) => name);

beforeAll(async () => {
  folder = made.at();
  const text = await readFile(join(fixturesFolder, "alarm-email-hacked.json"), "utf8");
  for (const file of FILES) made.write(file, text);
});

it("loadFixtures loads a folder with its subfolders", async () => {
  expect(await namesOf(folder)).toEqual(["a-1", "a", "b", "deep/d", "deep/deeper/e", "{odd}/g"]);
  const published = await loadFixtures(fixturesFolder);
  expect(published).toHaveLength(52);
  expect(published.map(({ name }) => name)).toEqual(fixtures.map(({ name }) => name));
});

it.each([
  ["*.json", ["a-1", "a", "b"]],
  ["?.json", ["a", "b"]],
  ["**/*.json", ["a-1", "a", "b", "deep/d", "deep/deeper/e", "{odd}/g"]],
  ["deep/**/*.json", ["d", "deeper/e"]],
  ["d*/*.json", ["deep/d"]],
  ["{a,b,missing}.json", ["a", "b"]],
  [".git/*.json", ["f"]],
  // A single file with any name, and a path with wildcards in it that exists.
  ["deep/d.json", ["d"]],
  ["c.txt", ["c.txt"]],
  [".hidden.json", [".hidden"]],
  ["{odd}", ["g"]],
  ["{odd}/g.json", ["g"]],
])("loadFixtures loads the path or pattern %s", async (pattern, names) => {
  expect(await namesOf(`${folder}/${pattern}`)).toEqual(names);
  const here = relative(process.cwd(), folder).replaceAll("\\", "/");
  expect(await namesOf(`${here}/${pattern}`)).toEqual(names);
});

it("loadFixtures accepts the path separators of Windows", async () => {
  expect(await namesOf(`${folder}\\deep\\d.json`)).toEqual(["d"]);
  expect(await namesOf(`${folder}\\deep\\**\\*.json`)).toEqual(["d", "deeper/e"]);
});

it("loadFixtures keeps the order of a list and loads a file that is found twice once", async () => {
  const list = ["b.json", "deep", "*.json", "./b.json"].map((path) => `${folder}/${path}`);
  expect(await namesOf(list)).toEqual(["b", "d", "deeper/e", "a-1", "a"]);
});

describe("links", () => {
  const withLinks = temporaryFolder(afterAll);
  let linked: string;
  beforeAll(async () => {
    linked = withLinks.at();
    withLinks.write("own/a.json", await readFile(inFolder("a.json"), "utf8"));
    await symlink(inFolder("deep"), join(linked, "other"));
    await symlink(inFolder("a.json"), join(linked, "link.json"));
  });

  it("loadFixtures follows links to files and folders", async () => {
    expect(await namesOf(`${linked}/**/e.json`)).toEqual(["other/deeper/e"]);
  });

  it("loadFixtures reads a folder once, at its own path, even if links form a cycle", async () => {
    await symlink(linked, join(linked, "own", "back.json"));
    await symlink(join(linked, "own"), join(linked, "again"));
    await symlink(join(linked, "nowhere"), join(linked, "broken"));
    expect(await namesOf(linked)).toEqual(["link", "other/d", "other/deeper/e", "own/a"]);
    expect(await namesOf(join(linked, "again"))).toContain("a");
  });

  it("loadFixtures names a link that leads nowhere", async () => {
    const broken = join(linked, "own", "broken.json");
    await symlink(join(linked, "nowhere"), broken);
    await expect(namesOf(linked)).rejects.toThrow(`there is no ${broken}`);
  });
});

const refusal = (paths: string | readonly string[]) => rejectionOf(() => loadFixtures(paths));

it.each([
  ["missing.json", "there is no PATH"],
  ["a.json/b.json", "there is no PATH"],
  ["z*.json", "PATH matches no file that ends in .json"],
  ["c.*", "PATH matches no file that ends in .json"],
  ["missing/*", "PATH matches no file that ends in .json"],
  ["a.json/*", "PATH matches no file that ends in .json"],
  ["empty", "PATH has no file that ends in .json"],
])("loadFixtures names the path %s, which gives no file", async (name, message) => {
  await mkdir(inFolder("empty"), { recursive: true });
  expect(await refusal(inFolder(name))).toEqual(
    new FixtureError("not_found", message.replace("PATH", inFolder(name))),
  );
});

it.each([
  [[], "give at least one path of fixtures"],
  [["", "."], "there is no "],
])("loadFixtures refuses the paths %j", async (paths, message) => {
  expect(await refusal(paths)).toEqual(new FixtureError("not_found", message));
});

it.each([
  ["no JSON", "secret", "it is not JSON"],
  ["not UTF-8", Buffer.from([0x22, 0xe5, 0x22]), "it is not UTF-8"],
])("loadFixtures names a file that is %s and quotes nothing of it", async (_, content, why) => {
  const file = made.write("wrong.txt", content);
  expect(await refusal(file)).toMatchObject({
    code: "invalid_fixture",
    message: `${file} is not a fixture: ${why}`,
  });
});

it("loadFixtures names a file that cannot be read", async () => {
  const link = inFolder("circle/link.json");
  await mkdir(inFolder("circle"));
  await symlink("link.json", link);
  expect(await refusal(inFolder("circle"))).toEqual(
    new FixtureError("unreadable", `${link} cannot be read: ELOOP`),
  );
  expect(await refusal(inFolder("\0"))).toMatchObject({ code: "unreadable" });
});

const CANARY = "astrid.exempel@example.com";

const FILE = {
  description: "An alarm",
  receivedAt: "2026-07-08T10:00:06.000Z",
  expect: { outcome: "handled", status: 200 },
  headers: { "X-Webhook-Id": "id-1" },
  body: CANARY,
};

const parsed = (file: unknown) => parseFixture(JSON.stringify(file), "a", "folder/a.json");

/** Bodies that are UTF-8, and bodies that are not. */
const bodies = fc.oneof(
  fc.string({ unit: "binary" }).map((text) => Buffer.from(text)),
  fc.string().map((text) => Buffer.from(`\uFEFF${text}`)),
  fc.uint8Array({ maxLength: 40 }),
  // A view of a larger buffer, such as a Node server may pass.
  fc.uint8Array({ minLength: 2, maxLength: 40 }).map((bytes) => bytes.subarray(1)),
);
const headers = fc.dictionary(
  fc.stringMatching(/^[A-Za-z][A-Za-z-]{0,20}$/),
  fc.oneof(fc.string(), fc.array(fc.string(), { minLength: 1, maxLength: 3 })),
  { noNullPrototype: true },
);
const expectations = fc.record(
  { outcome: fc.string({ minLength: 1 }), status: fc.integer({ min: 100, max: 599 }) },
  { requiredKeys: ["status"], noNullPrototype: true },
);

it.each(fixtures)("$name.json is formatted to exactly its own file", async ({ name }) => {
  const text = await readFile(join(fixturesFolder, `${name}.json`), "utf8");
  expect(formatFixture(parseFixture(text, name))).toBe(text);
});

it("a fixture with any bytes survives formatFixture and parseFixture", () => {
  fc.assert(
    fc.property(
      fc.record(
        {
          name: fc.constant("a"),
          description: fc.string(),
          receivedAt: fc.date({
            min: new Date("0000-01-01T00:00:00Z"),
            max: new Date("9999-12-31T23:59:59Z"),
            noInvalidDate: true,
          }),
          expect: expectations,
          headers,
          body: bodies,
        },
        {
          requiredKeys: ["name", "description", "receivedAt", "headers", "body"],
          noNullPrototype: true,
        },
      ),
      (fixture: Fixture) => {
        const { body, ...rest } = parseFixture(formatFixture(fixture), "a");
        expect({ ...rest, body: [...body] }).toEqual({ ...fixture, body: [...fixture.body] });
        expect(Object.keys(rest.headers)).toEqual(Object.keys(fixture.headers));
      },
    ),
    { numRuns: 500 },
  );
});

it("a fixture file may begin with a byte order mark and may omit expect", () => {
  const { description, receivedAt, headers: recorded, body } = FILE;
  const text = JSON.stringify({ description, receivedAt, headers: recorded, body });
  expect(parseFixture(`\uFEFF${text}`, "a")).toStrictEqual({
    name: "a",
    description,
    receivedAt: new Date(receivedAt),
    headers: recorded,
    body: Buffer.from(body),
  });
  expect(parsed({ ...FILE, expect: { status: 503 } }).expect).toEqual({ status: 503 });
  const either = { outcome: "handled", status: 200, orSentAgain: true };
  expect(parsed({ ...FILE, expect: either }).expect).toEqual(either);
});

const without = (field: keyof typeof FILE) => ({ ...FILE, [field]: undefined });
const STATUS = "expect.status must be an HTTP status from 100 to 599";
const TIME = "receivedAt must be an ISO 8601 time, such as 2026-07-08T10:00:06.000Z";
const VALUES = "must be a string or a list of strings";
const ONE_BODY = "it must have either body or bodyBase64";

it.each<[unknown, string]>([
  [[CANARY], "it must be an object"],
  [without("description"), "description must be a string"],
  [without("receivedAt"), TIME],
  [{ ...FILE, receivedAt: "2026-02-30T10:00:00Z" }, TIME],
  [{ ...FILE, expect: "handled" }, "expect must be an object"],
  [{ ...FILE, expect: { status: 99 } }, STATUS],
  [
    { ...FILE, expect: { status: 200, orSentAgain: "yes" } },
    "expect.orSentAgain must be true or false",
  ],
  [
    { ...FILE, expect: { status: 200, outcome: 1 } },
    "expect.outcome must be the name of an outcome",
  ],
  [
    { ...FILE, expect: { status: 200, outcom: "" } },
    "expect must not have the unknown field outcom",
  ],
  [{ ...FILE, expects: {} }, "it must not have the unknown field expects"],
  [without("headers"), "headers must be an object"],
  [{ ...FILE, headers: { "X-Webhook-Id": ["a", 1] } }, `headers.X-Webhook-Id ${VALUES}`],
  [{ ...FILE, headers: { "X-Webhook-Id": [] } }, `headers.X-Webhook-Id ${VALUES}`],
  [without("body"), ONE_BODY],
  [{ ...FILE, bodyBase64: "" }, ONE_BODY],
  [{ ...FILE, body: { alarm: CANARY } }, "body must be a string"],
  [
    { ...FILE, body: `${CANARY}\ud800` },
    "body has a lone surrogate, which UTF-8 cannot encode: use bodyBase64",
  ],
  [{ ...without("body"), bodyBase64: "e30" }, "bodyBase64 must be padded base64"],
])("parseFixture names the file and the field that is wrong (%#)", (file, message) => {
  expect(() => parsed(file)).toThrow(
    new FixtureError("invalid_fixture", `folder/a.json is not a fixture: ${message}`),
  );
});

it("parseFixture never quotes a file that is not JSON", () => {
  const text = formatFixture(parsed(FILE));
  fc.assert(
    fc.property(
      fc.nat(text.length - 3),
      fc.constantFrom("", "x", '"', "\u0000"),
      (at, inserted) => {
        const broken = `${text.slice(0, at)}${inserted}`;
        const error = thrownBy(() => parseFixture(broken, "a", "folder/a.json"));
        expect(error).toEqual(
          new FixtureError("invalid_fixture", "folder/a.json is not a fixture: it is not JSON"),
        );
        expect(error).not.toHaveProperty("cause");
      },
    ),
  );
});

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

it("a glob matches the same files as a model that tries every way", () => {
  fc.assert(
    fc.property(patterns, files, (pattern, file) => {
      const expected = matchesSegments(pattern, file);
      expect(matches(pattern.join("/"), file.join("/"))).toBe(expected);
    }),
    { numRuns: 3_000 },
  );
});

it.each([
  ["*.json", "axjson", false],
  ["{a,b}-?.json", "c-1.json", false],
  ["{a,b/{c,d}}.json", "b/d.json", true],
  ["{a,**/b}.json", "x/y/b.json", true],
  ["*{.json", "a{.json", true],
  ["*}.json", "a}.json", true],
  ["*[a].json", "x[a].json", true],
  ["*+(b)|^$\\.json", "a+(b)|^$\\.json", true],
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
