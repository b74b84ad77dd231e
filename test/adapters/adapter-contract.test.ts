import { describe, expect, it } from "vitest";
import {
  adapterContract,
  type AdapterCase,
  type AdapterTarget,
} from "../support/adapters/adapter-contract.js";
import { adapterTargets } from "../support/adapters/adapter-targets.js";
import { directTarget } from "../support/adapters/target-kinds.js";

const targets = [directTarget, ...adapterTargets];

/** Each case runs once on each target, for its own test and for the comparison. */
const transcripts = new Map<string, ReturnType<AdapterCase["run"]>>();

function runOnce(adapterCase: AdapterCase, target: AdapterTarget): ReturnType<AdapterCase["run"]> {
  const key = `${adapterCase.id} on ${target.name}`;
  const known = transcripts.get(key);
  if (known !== undefined) return known;
  const transcript = adapterCase.run(target);
  transcripts.set(key, transcript);
  return transcript;
}

/** Whether the request of a case reaches a target as it was sent. */
const canJudge = (target: AdapterTarget, { id }: AdapterCase): boolean =>
  !(target.hidesRepeats === true && id.startsWith("repeated_"));

describe.each(adapterContract)("$id: $title", (adapterCase) => {
  it.each(targets.filter((target) => canJudge(target, adapterCase)))(
    `$name: ${adapterCase.title}`,
    async (target) => {
      expect((await runOnce(adapterCase, target)).length).toBeGreaterThan(0);
    },
  );

  it(`every adapter gives the same answers as the receiver itself: ${adapterCase.title}`, async () => {
    const answers = await runOnce(adapterCase, directTarget);
    for (const target of adapterTargets) {
      if (!canJudge(target, adapterCase)) continue;
      expect(await runOnce(adapterCase, target), target.name).toEqual(answers);
    }
  });
});

describe("the adapter contract", () => {
  it("each case of the adapter contract has its own id", () => {
    const ids = adapterContract.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });
});
