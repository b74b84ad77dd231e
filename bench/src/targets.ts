/** The bounds of a measured value. */
export interface Target {
  /** The row's name in the report. */
  readonly label: string;
  /** The largest value that is allowed. */
  readonly must: number;
  /** The unit of a value that is not a ratio. */
  readonly unit?: "B" | "ns";
  /** Whether it is one of the rows by which a user decides. They stand in docs/performance.md. */
  readonly decides?: true;
  /** Why the bound is missed where it is: a sentence for the reader of the report. */
  readonly why?: string;
  /** Whether `npm run bench:check` compares it with the value in results/table.md. */
  readonly checked?: true;
}

/**
 * Every bound that the benchmark holds the package to. In process and for a 1 KB alarm, unless the name says otherwise. On
 * both sides the handler is the same asynchronous function, which resolves at once unless the name says otherwise.
 */
export const TARGETS = {
  full: {
    label: "hand-written verify + parse + lru-cache + zod",
    must: 1,
    why: "ours also renews the claim while the handler runs, limits the handler's time, and knows a delivery whose earlier run ended half-way. That takes about a microsecond.",
    decides: true,
    checked: true,
  },
  least: {
    label: "hand-written verify + `JSON.parse`",
    must: 1.1,
    why: "it remembers no id and checks no field; the rest is as in the first row.",
    checked: true,
  },
  standardwebhooks: {
    label: "standardwebhooks",
    must: 1,
    checked: true,
  },
  svix: {
    label: "svix",
    must: 1,
    checked: true,
  },
  stripe: {
    label: "stripe `constructEvent`",
    decides: true,
    must: 1,
    checked: true,
    why: "stripe checks the signature and the age, and leaves fields, duplicates and slow handlers to you.",
  },
  octokit: {
    label: "octokit `verifyAndReceive`",
    decides: true,
    must: 1,
    checked: true,
    why: "octokit checks the signature alone, and leaves age, fields, duplicates and slow handlers to you.",
  },
  asyncInFlight: {
    label: "64 handlers in flight ÷ the hand-written one with them",
    decides: true,
    must: 1,
    checked: true,
    why: "as in the first row.",
  },
  floor: { label: "floor: HMAC + `JSON.parse`", must: 1.7, checked: true },
  signature: {
    label: "signature check ÷ `createHmac` + `timingSafeEqual`",
    must: 0.65,
    checked: true,
  },
  refused: {
    label: "refused (bad signature) ÷ hand-written receiving of a good one",
    must: 0.65,
    checked: true,
    why: "ours also tells the gateway's refused deliveries from a stranger's, for `health()`.",
  },
  rotation2: { label: "2 secrets, the second matches ÷ 1 secret", must: 1.1, checked: true },
  rotation5: { label: "5 secrets, the fifth matches ÷ 1 secret", must: 1.1, checked: true },
  body16KB: {
    label: "16 KB ÷ hand-written verify + `JSON.parse`",
    must: 1.1,
    why: "HMAC and `JSON.parse` are nearly the whole time of a large body, on both sides, so the ratio is 1 give or take the noise of the machine.",
  },
  body1MB: {
    label: "1 MB ÷ hand-written verify + `JSON.parse`",
    must: 1.05,
  },
  httpFloor: {
    label: "HTTP, plain Node ÷ bare floor server",
    must: 1.6,
    why: "the bare server does nothing but HTTP, so the row shows the whole of a delivery.",
  },
  httpNode: {
    label: "HTTP, plain Node ÷ hand-written",
    must: 1.08,
    decides: true,
    why: "ours watches for a sender that hangs up, limits the body and the handler's time, and answers with headers that say when to send again.",
  },
  httpExpress: {
    label: "HTTP, Express 5 ÷ hand-written",
    must: 1,
    decides: true,
  },
  httpHono: {
    label: "HTTP, Hono ÷ hand-written",
    must: 1.05,
    decides: true,
    why: "as on plain Node.",
  },
  coldImport: {
    label: "cold start, `import` ÷ the same with zod loaded",
    must: 0.45,
  },
  coldRequire: {
    label: "cold start, `require` ÷ the same with zod loaded",
    must: 0.45,
    why: "it differs by 0.04 from run to run.",
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

/** Compares the rounded value that the report shows, so that it never shows 1.05 as "at most 1.05, MISSED". */
export function isMet({ must }: Target, value: number): boolean {
  return Math.round(value * 100) / 100 <= must;
}
