import { setTimeout as wait } from "node:timers/promises";
import { MAX_TIMER_MS } from "../../src/common/timers.js";
import { convicts, inJavaScript } from "./convicts.js";
import {
  doingFirst,
  hanging,
  Meeting,
  never,
  overriding,
  replacing,
  type Flaws,
  type Judged,
  type MakeReceiver,
} from "./flaw.js";
import { RightReceiver, type Answer, type Request } from "./right-receiver.js";

/** Later than any case reads a count that is there already, on a busy machine too. */
const A_LITTLE_LATER_MS = 6_000;

/** Each mixes requests up that are under way at the same time, or gives up under load. */
const concurrencyFlaws: Flaws = {
  concurrent_deliveries: {
    "keeps the current delivery in one variable": overriding((right) => {
      let current: Request;
      const meeting = new Meeting();
      return {
        async handleOnce(request, record) {
          current = request;
          await meeting.wait();
          return right.handleOnce(current, record);
        },
      };
    }),
    "answers 400 while it is busy": busy([400, "busy"]),
    "redirects while it is busy": busy([302, "busy"]),
    "drops what is more than 32 at once": limiting(32, [200, "busy"]),
    "answers 400 to what is more than 40 at once": limiting(40, [400, "busy"]),
    "answers 404 to what is more than 20 at once": limiting(20, [404, "busy"]),
    "handles only the last of several deliveries": overriding((right) => {
      let latest = 0;
      const meeting = new Meeting();
      return {
        async handle(request, record) {
          const own = (latest += 1);
          await meeting.wait();
          if (own === latest) await right.handle(request, record);
        },
      };
    }),
    "handles a batch twice when it grows meanwhile": overriding((right) => {
      let batch: Request[] = [];
      const meeting = new Meeting();
      return {
        async handle(request, record) {
          batch.push(request);
          await meeting.wait();
          for (const one of [...batch]) await right.handle(one, record);
          // Longer than the next one waits for another.
          await wait(150);
          batch = [];
        },
      };
    }),
  },
  interleaved_uploads: {
    "empties a shared buffer when a request begins": overriding((right) => {
      let pieces: Buffer[] = [];
      return {
        async readBody(req) {
          pieces = [];
          req.on("data", (piece: Buffer) => pieces.push(piece));
          return (await right.readBody(req)) && Buffer.concat(pieces);
        },
      };
    }),
  },
};

/** Each goes wrong after its handler's time-out, after its sender has left, or after its answer. */
const lateFlaws: Flaws = {
  late_handler_answered: {
    "waits for its handler without a time-out": hanging(
      (ledger) => new RightReceiver(ledger, MAX_TIMER_MS),
    ),
  },
  late_failure_released: {
    "remembers a delivery as handled at its time-out": whenLate((right, key) => {
      right.handled.add(key);
      return undefined;
    }),
    "remembers a delivery as handled when it fails late": keepingLateFailures("handled"),
    "keeps the lock when its late handler fails": hanging(keepingLateFailures("running")),
    "forgets all ids when its late handler fails": knowingLate((right, late) => ({
      failed(request, key) {
        if (late.has(key)) right.handled.clear();
        return right.failed(request, key);
      },
    })),
    "acknowledges a delivery with a late handler": whenLate(() => [200, "late"]),
  },
  late_handler_counts: {
    "gives the lock away after a second": doingFirst("handle", ({ running }, { id }) =>
      setTimeout(() => running.delete(id), 1_000).unref(),
    ),
    "acknowledges a retry while its late handler runs": knowingLate((right, late) => ({
      inFlight: (request) => (late.has(request.id) ? [200, "on its way"] : right.inFlight(request)),
    })),
    "answers 409 forever after a late handler": hanging(
      knowingLate((right, late) => ({
        remember(key, request) {
          if (late.has(key)) setImmediate(() => right.running.add(key));
          else right.remember(key, request);
        },
      })),
    ),
    "forgets late handlers": knowingLate((right, late) => ({
      remember(key, request) {
        if (!late.has(key)) right.remember(key, request);
      },
    })),
    "answers 400 to a late handler": whenLate(() => [400, "late"]),
  },
  hang_up: {
    "gives the lock away when its sender hangs up": doingFirst("serve", ({ running }, req, res) =>
      res.on("close", () => {
        if (!res.writableFinished) running.delete(String(req.headers["x-webhook-id"]));
      }),
    ),
    "keeps the lock when its sender has hung up": hanging(
      replacing("run", async (right, request, key, record) => {
        await wait(30);
        if (request.req.socket.destroyed) return [503, "no one waits"];
        return right.run(request, key, record);
      }),
    ),
    "remembers an id without handling when the sender has hung up": replacing(
      "handle",
      async (right, request, record) => {
        await wait(30);
        if (!request.req.socket.destroyed) await right.handle(request, record);
      },
    ),
  },
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
    "queues a duplicate in flight and handles it afterwards": waitedFor(
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

convicts("JavaScript", inJavaScript, concurrencyFlaws, lateFlaws);

/** Handles one delivery at a time, and answers this to the others. */
function busy(answer: Answer) {
  return overriding((right) => {
    let isBusy = false;
    return {
      async handleOnce(request, record) {
        if (isBusy) return answer;
        isBusy = true;
        await wait(30);
        isBusy = false;
        return right.handleOnce(request, record);
      },
    };
  });
}

/** Handles so many deliveries at a time, and answers this to the others. Keeps each while others arrive. */
function limiting(most: number, answer: Answer) {
  return overriding((right) => {
    let running = 0;
    let arrivedAt = 0;
    return {
      async handleOnce(request, record) {
        arrivedAt = performance.now();
        if (running >= most) return answer;
        running += 1;
        await wait(30);
        // On a busy machine the next one takes a while.
        while (running > 2 && performance.now() - arrivedAt < 500) await wait(50);
        return right.handleOnce(request, record).finally(() => (running -= 1));
      },
    };
  });
}

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

/** Keeps the id of a delivery that fails after its handler's time-out. */
function keepingLateFailures(kept: "handled" | "running") {
  return knowingLate((right, late) => ({
    failed(request, key) {
      if (late.has(key)) right[kept].add(key);
      return right.failed(request, key);
    },
  }));
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
  const handle = async () => {
    await wait(A_LITTLE_LATER_MS);
    await ledger.record({ id });
  };
  handle().catch(() => undefined);
}
