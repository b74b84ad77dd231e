import { mkdir, readFile, symlink } from "node:fs/promises";
import { join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FixtureError } from "../../kit/fixtures/fixture.js";
import { loadFixtures } from "../../kit/fixtures/load-fixtures.js";
import { fixtures, fixturesFolder } from "../support/fixtures.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const FILES = [
  "b.json",
  "a.json",
  "a-1.json",
  "c.txt",
  ".hidden.json",
  "deep/d.json",
  "deep/deeper/e.json",
  ".git/f.json",
  "{odd}/g.json",
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

describe("loadFixtures", () => {
  it("loadFixtures loads a folder with its subfolders", async () => {
    expect(await namesOf(folder)).toEqual(["a-1", "a", "b", "deep/d", "deep/deeper/e", "{odd}/g"]);
    const published = await loadFixtures(fixturesFolder);
    expect(published).toHaveLength(52);
    expect(published.map(({ name }) => name)).toEqual(fixtures.map(({ name }) => name));
  });

  it("loadFixtures loads a single file with any name", async () => {
    expect(await namesOf(inFolder("deep/d.json"))).toEqual(["d"]);
    expect(await namesOf(inFolder("c.txt"))).toEqual(["c.txt"]);
    expect(await namesOf(inFolder(".hidden.json"))).toEqual([".hidden"]);
  });

  it.each([
    ["*.json", ["a-1", "a", "b"]],
    ["*", ["a-1", "a", "b"]],
    ["?.json", ["a", "b"]],
    ["**/*.json", ["a-1", "a", "b", "deep/d", "deep/deeper/e", "{odd}/g"]],
    ["**", ["a-1", "a", "b", "deep/d", "deep/deeper/e", "{odd}/g"]],
    ["deep/**/*.json", ["d", "deeper/e"]],
    ["d*/*.json", ["deep/d"]],
    ["{a,b,missing}.json", ["a", "b"]],
    [".git/*.json", ["f"]],
  ])("loadFixtures loads the pattern %s", async (pattern, names) => {
    expect(await namesOf(`${folder}/${pattern}`)).toEqual(names);
    const here = relative(process.cwd(), folder).replaceAll("\\", "/");
    expect(await namesOf(`${here}/${pattern}`)).toEqual(names);
  });

  it("loadFixtures takes a path literally if it exists, even with wildcards in it", async () => {
    expect(await namesOf(inFolder("{odd}"))).toEqual(["g"]);
    expect(await namesOf(inFolder("{odd}/g.json"))).toEqual(["g"]);
  });

  it("loadFixtures accepts the path separators of Windows", async () => {
    expect(await namesOf(`${folder}\\deep\\d.json`)).toEqual(["d"]);
    expect(await namesOf(`${folder}\\deep\\**\\*.json`)).toEqual(["d", "deeper/e"]);
  });

  it("loadFixtures keeps the order of a list and loads a file that is found twice once", async () => {
    const list = ["b.json", "deep", "*.json", "./b.json"].map((path) => `${folder}/${path}`);
    expect(await namesOf(list)).toEqual(["b", "d", "deeper/e", "a-1", "a"]);
  });

  it("loadFixtures returns the bytes, the time and the expectation", async () => {
    const [loaded] = await loadFixtures(inFolder("a.json"));
    const published = fixtures.find(({ name }) => name === "alarm-email-hacked");
    expect(loaded?.body).toEqual(published?.body);
    expect(loaded?.receivedAt).toEqual(new Date("2026-07-08T10:00:06.000Z"));
    expect(loaded?.expect).toEqual({ outcome: "handled", status: 200 });
  });
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
    expect(await namesOf(linked)).toEqual(["link", "other/d", "other/deeper/e", "own/a"]);
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

describe("errors", () => {
  const refusal = (paths: string | readonly string[]) =>
    loadFixtures(paths).then(
      () => undefined,
      (error: unknown) => error,
    );

  it("loadFixtures names the path, pattern or folder that gives no file", async () => {
    const empty = inFolder("empty");
    await mkdir(empty);
    const cases = [
      [inFolder("missing.json"), `there is no ${inFolder("missing.json")}`],
      [inFolder("a.json/b.json"), `there is no ${inFolder("a.json/b.json")}`],
      [inFolder("z*.json"), `${inFolder("z*.json")} matches no file that ends in .json`],
      [inFolder("c.*"), `${inFolder("c.*")} matches no file that ends in .json`],
      [inFolder("missing/*"), `${inFolder("missing/*")} matches no file that ends in .json`],
      [inFolder("a.json/*"), `${inFolder("a.json/*")} matches no file that ends in .json`],
      [empty, `${empty} has no file that ends in .json`],
      [[], "give at least one path of fixtures"],
      [["", folder], "there is no "],
    ] as const;
    for (const [given, message] of cases) {
      expect(await refusal(given)).toEqual(new FixtureError("not_found", message));
    }
  });

  it("loadFixtures names the file and field that is wrong and quotes nothing from the file", async () => {
    const file = inFolder("wrong.txt");
    const refused = (content: string | Buffer) => refusal(made.write("wrong.txt", content));
    expect(await refused("secret")).toEqual(
      new FixtureError("invalid_fixture", `${file} is not a fixture: it is not JSON`),
    );
    expect(await refused('{"description":"a"}')).toEqual(
      new FixtureError(
        "invalid_fixture",
        `${file} is not a fixture: receivedAt must be an ISO 8601 time, such as 2026-07-08T10:00:06.000Z`,
      ),
    );
    expect(await refused(Buffer.from([0x22, 0xe5, 0x22]))).toEqual(
      new FixtureError("invalid_fixture", `${file} is not a fixture: it is not UTF-8`),
    );
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
});
