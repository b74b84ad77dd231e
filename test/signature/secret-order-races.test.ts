import { backend } from "#crypto";
import * as fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { delivery } from "../support/deliveries.js";
import { deferred } from "../support/deferred.js";
import { recordingReceiver } from "../support/recording-receiver.js";

// A MAC of WebCrypto is a promise. While one delivery waits for it, another one may move its own
// secret to the front of the list that both use.

const SECRETS = ["whsec_first", "whsec_second", "whsec_third", "whsec_fourth", "whsec_fifth"];
const FORGER = "whsec_of_a_forger";

const realVerify = backend.verify.bind(backend);
type Verify = typeof backend.verify;

/**
 * Delivers all at the same time with this `verify`. Returns the outcome of each and its number of
 * MACs.
 */
async function deliverAtOnce(
  signers: readonly string[],
  verify: Verify,
  settle: (answers: Promise<unknown>) => unknown,
) {
  const requests = await Promise.all(
    signers.map((secret, at) => delivery({ id: `d-${at}`, secret })),
  );
  const spied = vi.spyOn(backend, "verify").mockImplementation(verify);
  const { receive, reports } = recordingReceiver({ secret: SECRETS });
  const answers = Promise.all(requests.map(receive));
  await settle(answers);
  const outcomes = (await answers).map(({ outcome }) => outcome);
  const results = outcomes.map((outcome, at) => {
    const keys = spied.mock.calls.filter(([, head]) => head.id === `d-${at}`);
    return {
      outcome,
      secretIndex: reports.find(({ id }) => id === `d-${at}`)?.secretIndex,
      macs: keys.length,
      secrets: new Set(keys.map(([key]) => key)).size,
    };
  });
  vi.restoreAllMocks();
  return { results, receive, reports };
}

function expectEachJudged(
  results: Awaited<ReturnType<typeof deliverAtOnce>>["results"],
  signers: readonly string[],
) {
  for (const [at, { outcome, secretIndex, macs, secrets }] of results.entries()) {
    const index = SECRETS.indexOf(signers[at] ?? "");
    expect({ outcome, secretIndex }).toEqual(
      index === -1
        ? { outcome: "signature_mismatch", secretIndex: undefined }
        : { outcome: "handled", secretIndex: index },
    );
    expect(secrets, "no secret is tried twice").toBe(macs);
    if (index === -1) expect(macs, "every secret is tried").toBe(SECRETS.length);
  }
}

test("concurrent deliveries, each signed by another secret of the list, are all handled", async () => {
  const signers = Array.from({ length: 200 }, (_, at) => [...SECRETS, FORGER][(at * 5) % 6] ?? "");
  const { results } = await deliverAtOnce(signers, realVerify, () => undefined);
  expectEachJudged(results, signers);
});

describe.each([0, 1, 2, 3, 4])("a delivery that waits for its MAC at place %i", (place) => {
  test.each([...SECRETS, FORGER])(
    `a delivery that waits for its MAC at position ${place} misses no secret while others move to the front: signed by %s`,
    async (signer) => {
      const [waiting, goOn] = [deferred(), deferred()];
      let tried = 0;
      const verify: Verify = async (...call) => {
        if (call[1].id === "d-0" && tried++ === place) {
          waiting.resolve();
          await goOn.promise;
        }
        return realVerify(...call);
      };
      const request = await delivery({ id: "d-0", secret: signer });
      // One after the other, they reverse the list.
      const others = await Promise.all(
        SECRETS.map((secret, at) => delivery({ id: `other-${at}`, secret })),
      );
      vi.spyOn(backend, "verify").mockImplementation(verify);
      const { receive, reports } = recordingReceiver({ secret: SECRETS });
      const answer = receive(request);
      const index = SECRETS.indexOf(signer);
      // If its own secret comes before that position, the delivery never reaches it.
      if (index === -1 || index >= place) await waiting.promise;
      for (const other of others) expect((await receive(other)).outcome).toBe("handled");
      goOn.resolve();
      expect((await answer).outcome).toBe(index === -1 ? "signature_mismatch" : "handled");
      expect(tried).toBe(index === -1 ? SECRETS.length : index + 1);
      if (index !== -1) {
        expect(reports.find(({ id }) => id === "d-0")).toMatchObject({ secretIndex: index });
      }
    },
  );
});

test("as a property, each delivery is checked with all secrets, whatever the order in which the MACs arrive", async () => {
  const signers = fc.array(fc.constantFrom(...SECRETS, FORGER), { minLength: 2, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), signers, async (scheduler, row) => {
      const verify = scheduler.scheduleFunction(async (...call: Parameters<Verify>) =>
        realVerify(...call),
      );
      const settle = (answers: Promise<unknown>) => scheduler.waitFor(answers);
      const { results, receive, reports } = await deliverAtOnce(row, verify, settle);
      expectEachJudged(results, row);
      // Afterwards the list is complete: each secret is still there, with its index.
      for (const [index, secret] of SECRETS.entries()) {
        const id = `after-${index}`;
        expect((await receive(await delivery({ id, secret }))).outcome).toBe("handled");
        expect(reports.at(-1)).toMatchObject({ id, secretIndex: index });
      }
    }),
    { seed: 20_260_708, numRuns: 100 },
  );
});
