import { parseArgs } from "node:util";
import type { Platform } from "./platform.js";
import { PROJECTS } from "./projects.js";

/** What `npm run platforms` was asked to run. */
export interface Selection {
  /** Folders under `test/platforms/`. Undefined for all. */
  readonly only: readonly string[] | undefined;
  /** Only the folders of `FAST`. */
  readonly isFast: boolean;
  /** The date that the page has, as `2026-11-22`. */
  readonly date: string;
}

/**
 * What `--fast` takes, for CI: runtimes and hosts that no test of `npm run test:all` sends the conformance suite to,
 * and whose packages install in seconds.
 */
const FAST: readonly string[] = [
  "azure-functions",
  "bun",
  "cloud-functions",
  "cloudflare",
  "deno",
  "edge-runtime",
  "elysia",
  "hapi",
  "nest-12",
  "polka",
  "vercel",
  "workerd",
];

/** What `--only` takes beside folders: the unit tests on each Node, and in full what `npm run test:all` runs in part. */
const UNIT_TESTS = "unit-tests";
const IN_FULL = "tests-in-full";

/** Whether every row runs, so that the page can be written. */
export function isWhole({ only, isFast }: Selection): boolean {
  return only === undefined && !isFast;
}

/** Reads `--only lambda,fastify`, `--fast` and `--date 2026-11-22`. Throws for anything else. */
export function readSelection(args: readonly string[]): Selection {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string" },
      fast: { type: "boolean", default: false },
      date: { type: "string", default: new Date().toISOString().slice(0, "2026-11-22".length) },
    },
  });
  const { only, fast: isFast, date } = values;
  if (!/^\d{4}-\d{2}-\d{2}$/.test(date)) throw new Error(`--date ${date} is not like 2026-11-22`);
  return { only: only?.split(","), isFast, date };
}

/** The Nodes to run the unit tests on. The fast half has the newest: `npm test` runs them on the oldest. */
export function unitTestNodes({
  only,
  isFast,
}: Pick<Selection, "only" | "isFast">): readonly number[] {
  if (only !== undefined && !only.includes(UNIT_TESTS)) return [];
  return isFast ? [26] : [20, 22, 24, 26];
}

/** Whether to run in full what `npm run test:all` runs in part. */
export function runsInFull({ only, isFast }: Pick<Selection, "only" | "isFast">): boolean {
  return !isFast && (only?.includes(IN_FULL) ?? true);
}

/** The projects to compile or to test. The fast half has none: other tests have the oldest TypeScript and the newest. */
export function selectProjects({ only, isFast }: Pick<Selection, "only" | "isFast">) {
  return isFast ? [] : PROJECTS.filter(({ folder }) => only?.includes(folder) ?? true);
}

/** The rows to run, by name. Throws for a folder without a row. */
export function selectPlatforms(
  platforms: readonly Platform[],
  { only, isFast }: Pick<Selection, "only" | "isFast">,
): readonly Platform[] {
  const rows = [...platforms, ...PROJECTS];
  const folders = new Set([UNIT_TESTS, IN_FULL, ...rows.map(({ folder }) => folder)]);
  const unknown = (only ?? []).filter((folder) => !folders.has(folder));
  if (unknown.length > 0) {
    throw new Error(
      `no rows in ${unknown.join(", ")}; there are: ${[...folders].sort().join(", ")}`,
    );
  }
  return platforms
    .filter(({ folder }) => only?.includes(folder) ?? true)
    .filter(({ folder }) => !isFast || FAST.includes(folder))
    .toSorted((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
}
