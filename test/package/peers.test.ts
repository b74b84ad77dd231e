import { expect, test } from "vitest";
import { peersTable, putPeersTable, type VersionResult } from "../platforms/peers/page.js";
import type { Peer, Proof } from "../platforms/peers/project.js";

const peer: Peer = { names: ["boss"], entry: "boss", receiver: "boss", oldest: "1.0.0" };
const handled: Proof = { result: "handled" };
const failed: Proof = { result: "failed", message: "" };
const refused: Proof = { result: "refused", message: "" };
const version = (name: string, on20: Proof, on26: Proof, minNode = 0): VersionResult => ({
  version: name,
  minNode,
  proofs: [
    { node: 20, installer: "npm", proof: on20 },
    { node: 26, installer: "npm", proof: on26 },
  ],
});

test("a peer that works in every version has one line and no complaint", () => {
  const versions = [version("1.0.0", handled, handled), version("2.1.0", handled, handled)];
  const { text, complaints } = peersTable([{ peer, versions }]);
  expect(complaints).toEqual([]);
  expect(text.split("\n").at(-1)).toBe("| `boss` | `/boss` | 1.0.0 | 2.1.0 | yes | yes |  |");
});

test("a version that is made for later Nodes need not work on the oldest one", () => {
  const versions = [version("1.0.0", handled, failed), version("2.1.0", failed, handled, 22)];
  const { text, complaints } = peersTable([{ peer, versions }]);
  expect(complaints).toEqual([]);
  expect(text).toContain("| 1.0.0; 2.1.0 needs Node 22 | 2.1.0 |");
});

test("a version that works on no Node that it is made for is a complaint", () => {
  const versions = [version("1.0.0", handled, handled), version("2.1.0", failed, failed)];
  expect(peersTable([{ peer, versions }]).complaints).toEqual([
    "boss 2.1.0 does not work on Node 20",
    "boss 2.1.0 does not work on Node 26",
  ]);
});

test("a version that works only if one of the installers installs it is a complaint", () => {
  const newest = version("2.1.0", handled, handled);
  const proofs = [...newest.proofs, { node: 26, installer: "pnpm", proof: failed } as const];
  const versions = [version("1.0.0", handled, handled), { ...newest, proofs }];
  expect(peersTable([{ peer, versions }]).complaints).toEqual([
    "boss 2.1.0 does not work on Node 26",
  ]);
});

test("a major before the oldest must be refused, and the table says that it is", () => {
  const bounded = { ...peer, oldest: "2.0.0" };
  const newest = version("2.1.0", handled, handled);
  const good = peersTable([
    { peer: bounded, versions: [version("1.0.0", refused, refused), newest] },
  ]);
  expect(good.complaints).toEqual([]);
  expect(good.text).toContain(
    "| 2.1.0 | 2.1.0 | yes | yes | refused with `unsupported_version`: 1.0.0 |",
  );
  const bad = peersTable([{ peer: bounded, versions: [version("1.0.0", failed, failed), newest] }]);
  expect(bad.complaints).toEqual(["boss 1.0.0 is not refused"]);
});

test("the table takes the place of the one before", () => {
  const mark = "test/platforms/peers";
  const page = `before\n<!-- ${mark} -->\n\nstale\n\n<!-- /${mark} -->\nafter\n`;
  const made = putPeersTable(page, "| new |", "2026-11-24", "npm 11 and pnpm 12");
  expect(made).toContain("before\n<!-- test/platforms/peers -->\n\nTested on 2026-11-24.");
  expect(made).toContain("by npm 11 and pnpm 12");
  expect(made).toContain("| new |\n\n<!-- /test/platforms/peers -->\nafter\n");
  expect(made).not.toContain("stale");
  expect(() => putPeersTable("nothing", "", "", "")).toThrow("lacks");
});
