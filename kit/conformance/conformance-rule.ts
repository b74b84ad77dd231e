import type { CaseContext } from "./case-context.js";
import type { ConformanceLevel } from "./conformance-case.js";
import type { ConformanceSettings, OptionNames } from "./conformance-options.js";
import type { RuleNeed } from "./needs.js";
import type { NamedDeliveries } from "./expectations.js";
import type { KeptConnection } from "./kept-connection.js";

/** The deliveries or requests of a rule, each with its name. */
export type MakeDeliveries = (context: CaseContext) => Promise<NamedDeliveries>;

/** How a rule is checked. A check throws `context.failure(…)`, or `context.notJudged(…)` when it cannot be seen. */
interface Checks {
  /** Genuine deliveries: each must be acknowledged. */
  readonly accept: MakeDeliveries;
  /** Requests that the gateway never sends: each must be refused. */
  readonly refuse: MakeDeliveries;
  /** Requests that may be genuine, if something is wrong on the receiver's side: the gateway must send each again. */
  readonly retry: MakeDeliveries;
  /** Genuine deliveries that the receiver may not know: each must be handled, or the gateway must send it again. */
  readonly acceptOrRetry: MakeDeliveries;
  readonly check: (context: CaseContext) => Promise<void>;
  /** A check that proves something only if the receiver accepts a plain genuine delivery. */
  readonly whenAccepted: (context: CaseContext) => Promise<void>;
  /** The same with the URL of the target, which it needs. */
  readonly atUrl: (context: CaseContext, url: URL) => Promise<void>;
  /** The same with a connection to that URL. */
  readonly onConnection: (
    context: CaseContext,
    connection: KeptConnection,
    url: URL,
  ) => Promise<void>;
}

type OneOf<T> = { [K in keyof T]: Pick<T, K> }[keyof T];

interface Requirement {
  readonly title: string;
  /** Default: `must`. */
  readonly level?: ConformanceLevel;
  readonly needs?: readonly RuleNeed[];
  /** True: no other case runs meanwhile. So it is for each rule that needs a failing or a slow handler. */
  readonly runsAlone?: true;
}

interface Why {
  readonly why: string;
}

interface Fix {
  readonly fix: string | ((names: OptionNames) => string);
}

/** One requirement, before it is bound to a receiver. Rules of two kinds have a usual reason. */
export type ConformanceRule = Requirement &
  (
    | (Partial<Why> & Fix & Pick<Checks, "accept">)
    | (Partial<Why & Fix> & Pick<Checks, "refuse">)
    | (Why & Fix & OneOf<Omit<Checks, "accept" | "refuse">>)
  );

/** Rules by the id of their case. */
export type ConformanceRules = Readonly<Record<string, ConformanceRule>>;

/** The first need of a rule that the settings do not meet. */
export function unmetNeed(
  rule: ConformanceRule,
  { types, url, handled, whileFailing, whileSlow }: ConformanceSettings,
): RuleNeed | undefined {
  const met: Readonly<Record<RuleNeed, boolean>> = {
    new_alarm: types.includes("new_alarm"),
    delete_my_data_event: types.includes("delete_my_data_event"),
    url: url !== undefined,
    handled: handled !== undefined,
    whileFailing: whileFailing !== undefined,
    whileSlow: whileSlow !== undefined,
  };
  const needsUrl = "atUrl" in rule || "onConnection" in rule;
  const { needs = needsUrl ? (["url"] as const) : [] } = rule;
  return needs.find((need) => !met[need]);
}
