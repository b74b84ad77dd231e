/** The bounds of a measured value. */
export interface Target {
  /** The row's name in the report. */
  readonly label: string;
  /** The largest value that is allowed. */
  readonly must: number;
  /** The value that we aim for. */
  readonly aim?: number;
  /** The unit of a value that is not a ratio. */
  readonly unit?: "B" | "ns";
  /** Whether it is one of the rows by which a user decides. They stand in docs/performance.md. */
  readonly decides?: true;
  /** Why the bound is missed where it is: a sentence for the reader of the report. */
  readonly why?: string;
  /** Whether the short check also measures it. */
  readonly checked?: true;
}

const SLOWER =
  "a delivery takes 6 % longer than before it was compared with an earlier one of its id, and before one table had all fields and headers.";

/** Every bound that the benchmark holds the package to. In process and for a 1 KB alarm, unless the name says otherwise. */
export const TARGETS = {
  full: {
    label: "hand-written verify + parse + lru-cache + zod",
    must: 1,
    aim: 0.66,
    decides: true,
    checked: true,
  },
  least: {
    label: "hand-written verify + `JSON.parse`",
    must: 1.1,
    aim: 0.85,
    why: SLOWER,
    checked: true,
  },
  standardwebhooks: {
    label: "standardwebhooks",
    must: 0.4,
    aim: 0.28,
    checked: true,
  },
  svix: {
    label: "svix",
    must: 0.4,
    aim: 0.28,
    checked: true,
  },
  stripe: {
    label: "stripe `constructEvent`",
    decides: true,
    must: 0.9,
    aim: 0.6,
    checked: true,
  },
  octokit: {
    label: "octokit `verifyAndReceive`",
    decides: true,
    must: 1,
    aim: 0.72,
    why: SLOWER,
    checked: true,
  },
  asyncAtOnce: {
    label: "async handler that resolves at once ÷ the hand-written one with it",
    decides: true,
    must: 1.05,
    aim: 0.95,
    checked: true,
    why: "each handler that is awaited has a timer for its time limit, and the hand-written receiver waits without one. Without the timer the row is 0.08 to 0.1 lower.",
  },
  asyncInFlight: {
    label: "64 async handlers in flight ÷ the hand-written one with them",
    decides: true,
    must: 1.05,
    aim: 0.95,
    checked: true,
    why: "each of the 64 handlers has a timer of its own. Without the timers the row is 0.03 to 0.05 lower.",
  },
  floor: { label: "floor: HMAC + `JSON.parse`", must: 1.7, aim: 1.3, checked: true },
  signature: {
    label: "signature check ÷ `createHmac` + `timingSafeEqual`",
    must: 0.65,
    aim: 0.5,
    checked: true,
  },
  refused: {
    label: "refused (bad signature) ÷ hand-written receiving of a good one",
    must: 0.65,
    aim: 0.32,
    checked: true,
  },
  rotation2: { label: "2 secrets, the second matches ÷ 1 secret", must: 1.1, checked: true },
  rotation5: { label: "5 secrets, the fifth matches ÷ 1 secret", must: 1.1, checked: true },
  body16KB: {
    label: "16 KB ÷ hand-written verify + `JSON.parse`",
    must: 1.1,
    aim: 1,
    why: "HMAC and `JSON.parse` are nearly the whole time of a large body, on both sides, so the ratio is 1 give or take the noise of the machine.",
  },
  body1MB: {
    label: "1 MB ÷ hand-written verify + `JSON.parse`",
    must: 1.05,
    aim: 1,
  },
  httpFloor: {
    label: "HTTP, plain Node ÷ bare floor server",
    must: 1.6,
    aim: 1.35,
    why: "as for the next row: the timer of the awaited handler, and the change from run to run.",
  },
  httpNode: {
    label: "HTTP, plain Node ÷ hand-written",
    must: 1.05,
    aim: 1,
    decides: true,
    why: "the timer of the awaited handler is a part of it: without the timer the row is 0.05 to 0.08 lower on Node 20, and 0.07 to 0.13 on Node 24. The row also changes from run to run: one build had 1.01 to 1.24 on Node 20, and 1.07 to 1.22 on Node 24.",
  },
  httpExpress: {
    label: "HTTP, Express 5 ÷ hand-written",
    must: 1,
    aim: 0.85,
    decides: true,
  },
  httpHono: {
    label: "HTTP, Hono ÷ hand-written",
    must: 1.05,
    aim: 0.85,
    decides: true,
    why: "as on plain Node: the timer of the awaited handler, and the change from run to run.",
  },
  coldImport: {
    label: "cold start, `import` ÷ the same with zod loaded",
    must: 0.45,
  },
  coldRequire: {
    label: "cold start, `require` ÷ the same with zod loaded",
    must: 0.45,
  },
  coldBundled: {
    label: "cold start, bundled ÷ `import` with zod loaded",
    must: 0.35,
    decides: true,
  },
  coldSvix: {
    label: "cold start, `import` ÷ svix",
    must: 1,
    why: "svix is a signature check in a few files; ours is a whole receiver.",
  },
  coldStripe: { label: "cold start, `import` ÷ stripe", must: 1, decides: true },
} as const satisfies Record<string, Target>;

/** The name of a target. */
export type TargetName = keyof typeof TARGETS;

/** The names of all targets, in the order of the report. */
export const TARGET_NAMES = Object.keys(TARGETS) as TargetName[];

/** The target of that name. */
export function targetOf(name: TargetName): Target {
  return TARGETS[name];
}

/** The sentence for a missed bound. */
export function whyMissed({ why }: Target): string {
  return why ?? "no reason is known; measure again on an idle machine, and look for a regression.";
}

/** The result of a comparison with the bounds. */
export type TargetResult = "met aim" | "met must" | "MISSED";

/** Compares the rounded value that the report shows, so that it never shows 1.05 as "at most 1.05, MISSED". */
export function judge({ must, aim }: Target, value: number): TargetResult {
  const shown = Math.round(value * 100) / 100;
  if (shown > must) return "MISSED";
  return aim !== undefined && shown <= aim ? "met aim" : "met must";
}
