import { requestFlaws } from "./answer-flaws.js";
import { aroundFlaws } from "./around-flaws.js";
import { branchFlaws } from "./branch-flaws.js";
import { connectionFlaws } from "./connection-flaws.js";
import { rowsOf } from "./flaw.js";
import { frontFlaws } from "./front-flaws.js";
import { lateFlaws } from "./late-flaws.js";
import { memoryFlaws } from "./memory-flaws.js";
import { onceFlaws } from "./once-flaws.js";
import { rareFlaws } from "./rare-flaws.js";
import { recordFlaws } from "./record-flaws.js";
import { retryFlaws } from "./retry-flaws.js";
import { signatureFlaws } from "./signature-flaws.js";

const themes = [
  signatureFlaws,
  ...requestFlaws,
  ...recordFlaws,
  onceFlaws,
  memoryFlaws,
  ...lateFlaws,
  ...connectionFlaws,
  branchFlaws,
  retryFlaws,
  rareFlaws,
  ...aroundFlaws,
  frontFlaws,
];

/** Who wrote these lists: people who know the cases. Flaws of others find more. */
export const AUTHOR = "the project itself";

/** Every flawed receiver, with the case that must convict it. */
export const FLAWS = themes
  .flatMap((theme) => Object.entries(theme))
  .flatMap(([caughtBy, receivers]) => rowsOf(receivers).map((row) => ({ ...row, caughtBy })));
