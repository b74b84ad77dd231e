import type { ConformanceOptions } from "../../kit/conformance/conformance-options.js";
import type { ConformanceReport } from "../../kit/conformance/run-conformance.js";
import { missingPrograms } from "../engines.js";
import {
  answerFlaws,
  freshnessFlaws,
  frontFlaws,
  statusFlaws,
  transportFlaws,
} from "./answer-flaws.js";
import type { Flaws, Judged, Receivers } from "./flaw.js";
import { judge, type Order } from "./judge.js";
import { LANGUAGE_FLAWS, LANGUAGE_HARMLESS } from "./languages/flaws.js";
import { concurrencyFlaws, lateFlaws } from "./late-flaws.js";
import { missingNginx, NGINX_FLAWS, NGINX_HARMLESS } from "./nginx-flaws.js";
import { branchFlaws, onceFlaws } from "./once-flaws.js";
import { rareFlaws, recordFlaws } from "./record-flaws.js";
import { HARD_TO_SEE, RIGHT, UNUSUAL } from "./right-receivers.js";
import { signatureFlaws } from "./signature-flaws.js";

export const KINDS = ["JavaScript", "JavaScript behind nginx", "Python", "PHP"] as const;
type Kind = (typeof KINDS)[number];

/** A receiver that the suite can judge. */
export interface Receiver {
  readonly kind: Kind;
  /** What it does, after "a receiver that". */
  readonly does: string;
  /** Whether it waits for a time-out. */
  readonly isSlow?: boolean;
  /** Starts it, and runs all cases or some of them. */
  readonly judge: (
    only?: readonly string[],
    options?: Partial<ConformanceOptions>,
    orders?: readonly Order[],
  ) => Promise<ConformanceReport>;
}

/** A receiver with one flaw, and the cases that must convict it. */
export interface Flawed extends Receiver {
  readonly caughtBy: readonly string[];
}

const THEMES: readonly Flaws[] = [
  ...[signatureFlaws, freshnessFlaws, statusFlaws, answerFlaws, frontFlaws, transportFlaws],
  ...[recordFlaws, rareFlaws, onceFlaws, branchFlaws, concurrencyFlaws, lateFlaws],
];

/** Who wrote this list: people who know the cases. Flaws of others find more. */
export const AUTHOR = "the project itself";

/** Every flawed receiver. */
export const FLAWED: readonly Flawed[] = [
  ...THEMES.flatMap((theme) => Object.entries(theme)).flatMap(([caughtBy, receivers]) =>
    inJavaScript(receivers).map((row) => ({ ...row, caughtBy: [caughtBy] })),
  ),
  ...NGINX_FLAWS,
  ...LANGUAGE_FLAWS,
];

/** Every receiver without a flaw, the plain ones first. */
export const INNOCENT: readonly Receiver[] = [
  ...inJavaScript(RIGHT),
  ...inJavaScript(UNUSUAL),
  ...NGINX_HARMLESS,
  ...LANGUAGE_HARMLESS,
];

/** Right receivers of which a run cannot see everything, with the cases that it leaves open or that advise only. */
export const RELUCTANT: readonly Receiver[] = inJavaScript(HARD_TO_SEE);

/** What this machine lacks for receivers of a kind. Undefined if they can run. */
export function missingOf(kind: Kind): string | undefined {
  if (kind === "JavaScript behind nginx") return missingNginx();
  return missingPrograms.some(({ name }) => name === kind) ? `${kind} is not installed` : undefined;
}

function inJavaScript(receivers: Receivers): readonly Receiver[] {
  return Object.entries(receivers).map(([does, judged]) => ({ does, ...judging(judged) }));
}

function judging(judged: Judged): Omit<Receiver, "does"> {
  const [make, own = {}] = typeof judged === "function" ? [judged] : judged;
  return {
    kind: "JavaScript",
    isSlow: own.timeoutMs !== undefined,
    judge: (only, options, orders) =>
      judge(
        (ledger) => make(ledger).createServer(),
        { ...own, ...options },
        only,
        undefined,
        orders,
      ),
  };
}
