import { readFile, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { createFixtureFolder, type LinkFile } from "../../kit/recorder/fixture-folder.js";
import { createRecordingQueue } from "../../kit/recorder/recording-queue.js";
import { deferred } from "../support/deferred.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const folderOfTest = temporaryFolder();
let directory: string;

beforeEach(() => {
  directory = folderOfTest.at();
});

/** Throws as a FAT drive does, which has no hard links. */
const noLinks: LinkFile = () =>
  Promise.reject(Object.assign(new Error("not permitted"), { code: "EPERM" }));

const textOf = (name: string): Promise<string> => readFile(join(directory, name), "utf8");

describe.each([
  ["with links", undefined],
  ["without links", noLinks],
])("fixture folder %s", (_, linkFile) => {
  test("a fixture folder overwrites nothing and continues after the highest number", async () => {
    folderOfTest.write("000007-a.json", "mine");
    folderOfTest.write("notes.txt", "mine");
    const folder = createFixtureFolder(directory, linkFile);
    expect(await folder.add("a", "new")).toBe(join(directory, "000008-a.json"));
    // Another process has taken the next name in the meantime.
    folderOfTest.write("000009-a.json", "theirs");
    expect(await folder.add("a", "newer")).toBe(join(directory, "000010-a.json"));
    expect(await textOf("000007-a.json")).toBe("mine");
    expect(await textOf("000009-a.json")).toBe("theirs");
    expect(await readdir(directory)).toHaveLength(5);
  });

  test("a fixture folder shared by several writers keeps every text once and shows only complete files", async () => {
    const text = (writer: number, index: number) =>
      JSON.stringify({ writer, index, filling: "x".repeat(200_000) });
    let isWriting = true;
    let looks = 0;
    const watch = async (): Promise<void> => {
      while (isWriting) {
        for (const name of (await readdir(directory)).filter((file) => file.endsWith(".json"))) {
          expect(JSON.parse(await textOf(name))).toHaveProperty("writer");
          looks += 1;
        }
      }
    };
    const watching = watch();
    await Promise.all(
      Array.from({ length: 4 }, async (_, writer) => {
        const folder = createFixtureFolder(directory, linkFile);
        for (let index = 0; index < 10; index++) await folder.add("a", text(writer, index));
      }),
    );
    isWriting = false;
    await watching;
    expect(looks).toBeGreaterThan(0);
    const names = await readdir(directory);
    const texts = await Promise.all(names.map(textOf));
    expect(names.every((name) => /^[0-9]{6}-a\.json$/.test(name))).toBe(true);
    expect(new Set(texts).size).toBe(40);
  });

  test("a fixture folder that does not exist is made with its first file", async () => {
    const folder = createFixtureFolder(join(directory, "missing"), linkFile);
    await folder.add("a", "text");
    expect(await readdir(join(directory, "missing"))).toEqual(["000001-a.json"]);
  });
});

test("a fixture folder that is removed during the lock ends with ENOENT instead of waiting", async () => {
  const linkFile: LinkFile = async (...paths) => {
    await rm(directory, { recursive: true });
    return noLinks(...paths);
  };
  const folder = createFixtureFolder(directory, linkFile);
  await expect(folder.add("a", "text")).rejects.toMatchObject({ code: "ENOENT" });
});

describe("the recording queue", () => {
  test("the recording queue runs one job at a time and refuses jobs above each limit", async () => {
    const queue = createRecordingQueue({ maxJobs: 2, maxBytes: 10 });
    const gate = deferred();
    const done: string[] = [];
    const job = (name: string) => async () => {
      await gate.promise;
      done.push(name);
    };
    expect(queue.add(50, job("larger than all room"))).toBe(true);
    expect(queue.add(1, job("no room"))).toBe(false);
    gate.resolve();
    await queue.flush();
    expect(queue.add(6, job("a"))).toBe(true);
    expect(queue.add(5, job("too many bytes"))).toBe(false);
    expect(queue.add(4, job("b"))).toBe(true);
    expect(queue.add(0, job("too many jobs"))).toBe(false);
    await queue.flush();
    expect(done).toEqual(["larger than all room", "a", "b"]);
  });
});
