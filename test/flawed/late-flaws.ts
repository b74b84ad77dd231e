import { setTimeout as wait } from "node:timers/promises";
import {
  doingFirst,
  hanging,
  never,
  overriding,
  type Flaws,
  type Judged,
  type MakeReceiver,
} from "./flaw.js";
import type { Answer, RightReceiver } from "./right-receiver.js";

/** Later than any case reads a count that is there already, on a busy machine too. */
const A_LITTLE_LATER_MS = 6_000;

/** Each does something wrong when its handler fails after the time-out. */
const lateFailureFlaws: Flaws = {
  late_failure_released: {
    "remembers a delivery as handled at the time-out of its handler": whenLate((right, key) => {
      right.handled.add(key);
      return undefined;
    }),
    "remembers a delivery as handled when its late handler fails": knowingLate((right, late) => ({
      failed(request, key) {
        if (late.has(key)) right.handled.add(key);
        return right.failed(request, key);
      },
    })),
    "keeps the lock when its late handler fails": hanging(
      knowingLate((right, late) => ({
        failed(request, key) {
          if (late.has(key)) right.running.add(key);
          return right.failed(request, key);
        },
      })),
    ),
    "acknowledges a delivery whose handler is late": whenLate(() => [200, "late"]),
  },
};

/** Each does something wrong with a duplicate that comes while a slow handler runs. */
const slowHandlerFlaws: Flaws = {
  late_handler_counts: {
    "gives the lock away at the time-out of its handler": whenLate((right, key) => {
      right.running.delete(key);
      return undefined;
    }),
    "gives the lock away after 300 ms": doingFirst("handle", ({ running }, { id }) =>
      setTimeout(() => running.delete(id), 300).unref(),
    ),
    "acknowledges a retry while its late handler runs": knowingLate((right, late) => ({
      inFlight: (request) => (late.has(request.id) ? [200, "on its way"] : right.inFlight(request)),
    })),
  },
};

/** Each does something wrong when the sender hangs up before the answer. */
const hangUpFlaws: Flaws = {
  hang_up: {
    "gives the lock away when the sender hangs up": doingFirst("serve", ({ running }, req, res) =>
      res.on("close", () => {
        if (!res.writableFinished) running.delete(String(req.headers["x-webhook-id"]));
      }),
    ),
    "keeps the lock when the sender has hung up": hanging(
      overriding((right) => ({
        async run(request, key, record) {
          await wait(30);
          if (request.req.socket.destroyed) return [503, "no one waits"];
          return right.run(request, key, record);
        },
      })),
    ),
    "handles nothing when the sender has hung up, but remembers the id": overriding((right) => ({
      async handle(request, record) {
        await wait(30);
        if (!request.req.socket.destroyed) await right.handle(request, record);
      },
    })),
  },
};

/** Each handles something after the answer that it must not handle. */
const lateEffectFlaws: Flaws = {
  late_effects: {
    "handles a refused delivery a little later": waitedFor(
      doingFirst("refuse", (right, reason, request) => {
        if (reason === "mismatch" && request !== undefined) handleLater(right, request.id);
      }),
    ),
    "handles an unsigned delivery a little later": waitedFor(
      doingFirst("readHeaders", (right, req) => {
        const id = right.header(req, "x-webhook-id");
        const isUnsigned = req.headers["x-webhook-signature"] === undefined;
        if (id !== undefined && isUnsigned) handleLater(right, id);
      }),
    ),
    "handles a duplicate again a little later": waitedFor(
      doingFirst("duplicate", (right, { id }) => {
        handleLater(right, id);
      }),
    ),
    "queues a duplicate in flight and handles it after the first one": waitedFor(
      overriding((right) => ({
        async handle(request, record) {
          // A busy process may read a copy late. A delivery without one takes the whole time.
          await right.overlap(request, 3_000);
          await right.handle(request, record);
        },
        answerLate: never,
        inFlight(request) {
          handleLater(right, request.id);
          return right.inFlight(request);
        },
      })),
    ),
  },
};

/** Each goes wrong after its handler's time-out, after its sender has left, or after its answer. */
export const lateFlaws: readonly Flaws[] = [
  lateFailureFlaws,
  slowHandlerFlaws,
  hangUpFlaws,
  lateEffectFlaws,
];

/** A receiver that knows which handlers have outlasted their time-out. */
function knowingLate(
  replaced: (right: RightReceiver, late: ReadonlySet<string>) => Partial<RightReceiver>,
  whenLateDo: (right: RightReceiver, key: string) => Answer | undefined = () => undefined,
) {
  return overriding((right) => {
    const late = new Set<string>();
    return {
      async answerLate(key) {
        const answer = await right.answerLate(key);
        if (!right.running.has(key)) return answer;
        late.add(key);
        return whenLateDo(right, key) ?? answer;
      },
      ...replaced(right, late),
    };
  });
}

/** Does something, or answers something else, at the time-out of a handler. */
function whenLate(act: (right: RightReceiver, key: string) => Answer | undefined) {
  return knowingLate(() => ({}), act);
}

/** For a receiver whose effect comes later. The suite counts again after twice that time. */
function waitedFor(make: MakeReceiver): Judged {
  return [make, { handledWithinMs: 2 * A_LITTLE_LATER_MS }];
}

/** Handles a delivery after a while, whatever becomes of it. */
function handleLater({ ledger }: RightReceiver, id: string): void {
  const handle = async (): Promise<void> => {
    await wait(A_LITTLE_LATER_MS);
    await ledger.record({ id });
  };
  handle().catch(() => undefined);
}
