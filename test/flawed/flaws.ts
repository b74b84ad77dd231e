import { requestFlaws } from "./answer-flaws.js";
import { connectionFlaws } from "./connection-flaws.js";
import type { Flaw } from "./flaw.js";
import { lateFlaws } from "./late-flaws.js";
import { memoryFlaws } from "./memory-flaws.js";
import { onceFlaws } from "./once-flaws.js";
import { recordFlaws } from "./record-flaws.js";
import { signatureFlaws } from "./signature-flaws.js";

/** Every flawed receiver. */
export const FLAWS: readonly Flaw[] = [
  ...signatureFlaws,
  ...requestFlaws,
  ...recordFlaws,
  ...onceFlaws,
  ...memoryFlaws,
  ...lateFlaws,
  ...connectionFlaws,
];
