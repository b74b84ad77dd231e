import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

/** Vitest's global setup: a folder for what the test files of one run share, removed at its end. */
export default function setup(): () => void {
  const folder = mkdtempSync(path.join(tmpdir(), "igw-run-"));
  // The users of database servers pass through it.
  chmodSync(folder, 0o711);
  process.env["TEST_RUN_FOLDER"] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
