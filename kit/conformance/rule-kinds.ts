import type { WebhookType } from "../../src/delivery/headers.js";
import type { CaseContext } from "./case-context.js";
import type { OptionNames } from "./conformance-options.js";
import type { ConformanceRule } from "./conformance-rule.js";
import {
  ensureAcceptsGenuine,
  expectAcceptedOrRetried,
  expectAllAccepted,
  expectNotGivenUp,
  expectRefused,
  type NamedDeliveries,
} from "./expectations.js";
import { KeptConnection } from "./kept-connection.js";
import { each, sampleText, type MakeDelivery } from "./test-deliveries.js";

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

const ACCEPT_WHY =
  "The gateway sends such deliveries. It tries a refused one at most ten times, then it is lost.";
const REFUSE_WHY = "Anyone who finds the URL can invent alarms or change real ones.";
const REFUSE_FIX = `${COMPUTE_SIGNATURE}, and compare it in constant time.`;

/** Why a rule is there, and how to fix a receiver that breaks it. */
export function reasonsOf(rule: ConformanceRule, names: OptionNames) {
  const { why = "refuse" in rule ? REFUSE_WHY : ACCEPT_WHY, fix = REFUSE_FIX } = rule;
  return { why, fix: typeof fix === "string" ? fix : fix(names) };
}

/** Checks the rule with this id. */
export async function checkRule(
  id: string,
  rule: ConformanceRule,
  context: CaseContext,
): Promise<void> {
  if ("check" in rule) return rule.check(context);
  if ("refuse" in rule) return expectRefused(context, await rule.refuse(context));
  if ("retry" in rule) return expectNotGivenUp(context, await rule.retry(context));
  if ("acceptOrRetry" in rule) {
    return expectAcceptedOrRetried(context, await rule.acceptOrRetry(context));
  }
  if (!BASELINE_RULES.includes(id)) await ensureAcceptsGenuine(context);
  if ("accept" in rule) return expectAllAccepted(context, await rule.accept(context));
  if ("whenAccepted" in rule) return rule.whenAccepted(context);
  const { url } = context.settings;
  if (url === undefined) return;
  if ("atUrl" in rule) return rule.atUrl(context, url);
  const connection = new KeptConnection(url, context.settings);
  try {
    await rule.onConnection(context, connection, url);
  } finally {
    connection.close();
  }
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
): Promise<NamedDeliveries> {
  return each(
    records.filter(([type]) => types.includes(type)),
    async ([type, name, changes]) => {
      const body = sampleText(type, changes);
      return [name, await deliver({ type, body })] as const;
    },
  );
}

/** The same requests for each type that the receiver is registered for. */
export async function ofEachType(
  { deliver, settings: { types } }: CaseContext,
  requests: (deliver: MakeDelivery) => Promise<NamedDeliveries>,
): Promise<NamedDeliveries> {
  const lists = await each(types, async (type, at) => {
    const named = await requests((changes) => deliver({ type, ...changes }));
    return at === 0 ? named : named.map(([name, one]) => [`${name} (${type})`, one] as const);
  });
  return lists.flat();
}
