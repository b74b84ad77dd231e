import { randomUUID } from "node:crypto";
import { UNMET } from "./conformance-rule.js";
import { sendGenuine } from "./send-genuine.js";
import type { Trial } from "./trial.js";

/** Two ids of two deliveries, and in what alone they differ. */
type SimilarIds = readonly [difference: string, first: string, second: string];

/** Deliveries whose ids are alike are each handled: neither is a copy of the other. */
export async function expectToldApart(trial: Trial): Promise<void> {
  const [uuid, stem] = [randomUUID(), randomUUID().slice(0, -1)];
  const pairs: readonly SimilarIds[] = [
    ["its last digit", `${stem}0`, `${stem}1`],
    // No UUIDs, which are the same in either letter case.
    ["letter case", `${uuid}.a`, `${uuid}.A`],
  ];
  for (const pair of pairs) await expectBothHandled(trial, pair);
}

async function expectBothHandled(trial: Trial, [difference, ...ids]: SimilarIds): Promise<void> {
  for (const id of ids) {
    const delivery = await trial.deliver({ id });
    // Sent twice, it would be a duplicate of itself.
    const reply = await sendGenuine(trial, delivery, () => trial.sendAlone(delivery));
    // The document promises UUIDs: what takes no other ids confuses none.
    if (reply.verdict !== "acknowledged") return;
    const runs = await trial.settledRunsOf(id);
    if (runs === 0 || (runs === undefined && reply.outcome === "duplicate")) {
      throw trial.failure(
        `one of two ids that differ in ${difference} alone: answered ${reply.text}, but handled never`,
      );
    }
    if (runs === undefined && reply.outcome !== "handled") trial.unseen(UNMET.handled);
  }
}
