import type { WebhookType } from "../../src/delivery/headers.js";
import type { CaseContext } from "./case-context.js";
import type { ConformanceRule } from "./conformance-rule.js";
import {
  ensureAcceptsGenuine,
  expectAcceptedOrRetried,
  expectAllAccepted,
  expectNotGivenUp,
  expectRefused,
  type Named,
} from "./expectations.js";
import { sampleText, type Delivery, type MakeDelivery } from "./test-deliveries.js";

/** The deliveries of a rule, each with its name. */
type MakeDeliveries = (context: CaseContext) => Promise<readonly Named<Delivery>[]>;

/** Rules for a plain delivery. While these fail, the other rules prove nothing. */
export const BASELINE_RULES: readonly string[] = ["alarm", "event"];

/** How the signature is computed, for the `fix` of several rules. */
export const COMPUTE_SIGNATURE =
  "Compute HMAC-SHA256 over `v1:` + X-Webhook-Timestamp + `:` + X-Webhook-Id + `:` + the raw body";

/** The beginning of each `why` about statuses that are final. */
export const FINAL_STATUSES_WHY =
  "After 400, 401, 403, 404 or 422 the gateway never sends the delivery again";

/** How to treat genuine deliveries that the receiver does not understand. */
export const LENIENT_FIX =
  "Accept it, or answer 409 or 503 until you can: the gateway sends it again for up to 36 hours.";

/** A rule about genuine deliveries: each must be acknowledged. */
export function acceptRule(
  rule: Omit<ConformanceRule, "check" | "level" | "why"> & {
    readonly level?: "should";
    readonly why?: string;
  },
  deliveries: MakeDeliveries,
): ConformanceRule {
  return {
    level: "must",
    why: "The gateway sends such deliveries. It tries a refused one at most ten times, then it is lost.",
    ...rule,
    async check(context) {
      if (!BASELINE_RULES.includes(rule.id)) await ensureAcceptsGenuine(context);
      await expectAllAccepted(context, await deliveries(context));
    },
  };
}

/** A rule about requests that the gateway never sends: each must be refused. */
export function refuseRule(
  rule: Pick<ConformanceRule, "id" | "title"> & Partial<ConformanceRule>,
  requests: MakeDeliveries,
): ConformanceRule {
  return {
    level: "must",
    why: "Anyone who finds the URL can invent alarms or change real ones.",
    fix: `${COMPUTE_SIGNATURE}, and compare it in constant time.`,
    ...rule,
    check: async (context) => expectRefused(context, await requests(context)),
  };
}

/**
 * A rule about requests that may be genuine, if something is wrong on the receiver's side: the gateway must
 * send each of them again.
 */
export function retryRule(
  rule: Omit<ConformanceRule, "check" | "level"> & { readonly level?: "should" },
  requests: MakeDeliveries,
): ConformanceRule {
  const check: ConformanceRule["check"] = async (context) =>
    expectNotGivenUp(context, await requests(context));
  return { level: "must", ...rule, check };
}

/**
 * A rule about genuine deliveries with content that the receiver may not know: each must be handled, or the
 * gateway must send it again.
 */
export function acceptOrRetryRule(
  rule: Omit<ConformanceRule, "check" | "level"> & { readonly level?: "should" },
  deliveries: MakeDeliveries,
): ConformanceRule {
  const check: ConformanceRule["check"] = async (context) =>
    expectAcceptedOrRetried(context, await deliveries(context));
  return { level: "must", ...rule, check };
}

/** A record with some fields changed, and its name for a message. */
export type ChangedRecord = readonly [
  type: WebhookType,
  name: string,
  changes: Record<string, unknown>,
];

/** A delivery of each changed record whose type the receiver is registered for. */
export function recordsWith(
  { deliver, settings: { types } }: CaseContext,
  records: readonly ChangedRecord[],
): Promise<readonly Named<Delivery>[]> {
  return Promise.all(
    records
      .filter(([type]) => types.includes(type))
      .map(async ([type, name, changes]) => {
        const body = sampleText(type, changes);
        return [name, await deliver({ type, body })] as const;
      }),
  );
}

/** The same requests for each type that the receiver is registered for. */
export async function ofEachType(
  { deliver, settings: { types } }: CaseContext,
  requests: (deliver: MakeDelivery) => Promise<readonly Named<Delivery>[]>,
): Promise<readonly Named<Delivery>[]> {
  const lists = await Promise.all(
    types.map(async (type, at) => {
      const named = await requests((changes) => deliver({ type, ...changes }));
      return at === 0 ? named : named.map(([name, one]) => [`${name} (${type})`, one] as const);
    }),
  );
  return lists.flat();
}
