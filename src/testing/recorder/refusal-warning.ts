import type { FixtureRefusal } from "./fixture-refusal.js";
import { refusalSentence } from "./refusal-sentence.js";

/** Says each reason once on the console, for who gives no `onRefused`. */
export function createRefusalWarning(): (refusal: FixtureRefusal) => void {
  const said = new Set<string>();
  return (refusal) => {
    if (said.has(refusal.reason)) return;
    said.add(refusal.reason);
    const advice = refusal.reason === "personal_data" ? " Keep less by redact." : "";
    const target: Pick<Console, "warn"> = console;
    target.warn(
      `identity-gateway-webhooks: a delivery was not recorded: ${refusalSentence(refusal)}.${advice} ` +
        "Said once for each reason; onRefused hears of all.",
    );
  };
}
