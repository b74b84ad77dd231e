import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { HANGS, type Flaw } from "./flaw.js";
import {
  RightReceiver,
  type Answer,
  type Fields,
  type Refusal,
  type Request,
} from "./right-receiver.js";

/** Later than any case reads a count that is there already. */
const A_LITTLE_LATER_MS = 1_000;

/** A receiver that knows which handlers have outlasted their time-out. */
class LateReceiver extends RightReceiver {
  readonly late = new Set<string>();
  override async answerLate(key: string): Promise<Answer> {
    const answer = await super.answerLate(key);
    if (this.running.has(key)) {
      this.late.add(key);
      return this.answerWhenLate(key, answer);
    }
    return answer;
  }
  answerWhenLate(_key: string, answer: Answer): Answer {
    return answer;
  }
}

/** Each does something wrong when its handler fails after the time-out. */
const lateFailureFlaws: readonly Flaw[] = [
  [
    "remembers a delivery as handled at the time-out of its handler",
    "late_failure_released",
    class extends LateReceiver {
      override answerWhenLate(key: string, answer: Answer) {
        this.handled.add(key);
        return answer;
      }
    },
  ],
  [
    "remembers a delivery as handled when its late handler fails",
    "late_failure_released",
    class extends LateReceiver {
      override failed(request: Request, key: string) {
        if (this.late.has(key)) this.handled.add(key);
        return super.failed(request, key);
      }
    },
  ],
  [
    "keeps the lock when its late handler fails",
    "late_failure_released",
    class extends LateReceiver {
      override failed(request: Request, key: string) {
        if (this.late.has(key)) this.running.add(key);
        return super.failed(request, key);
      }
    },
    HANGS,
  ],
  [
    "acknowledges a delivery whose handler is late",
    "late_failure_released",
    class extends LateReceiver {
      override answerWhenLate(): Answer {
        return [200, "late"];
      }
    },
  ],
];

/** Each does something wrong with a duplicate that comes while a slow handler runs. */
const slowHandlerFlaws: readonly Flaw[] = [
  [
    "gives the lock away at the time-out of its handler",
    "late_handler_counts",
    class extends LateReceiver {
      override answerWhenLate(key: string, answer: Answer) {
        this.running.delete(key);
        return answer;
      }
    },
  ],
  [
    "gives the lock away after 300 ms",
    "late_handler_counts",
    class extends RightReceiver {
      override handle(request: Request, record: Fields) {
        setTimeout(() => this.running.delete(request.id), 300).unref();
        return super.handle(request, record);
      }
    },
  ],
  [
    "acknowledges a retry while its late handler runs",
    "late_handler_counts",
    class extends LateReceiver {
      override inFlight(request: Request): Answer {
        return this.late.has(request.id) ? [200, "on its way"] : super.inFlight(request);
      }
    },
  ],
];

/** Each does something wrong when the sender hangs up before the answer. */
const hangUpFlaws: readonly Flaw[] = [
  [
    "gives the lock away when the sender hangs up",
    "hang_up",
    class extends RightReceiver {
      override async serve(req: IncomingMessage, res: ServerResponse) {
        res.on("close", () => {
          if (!res.writableFinished) this.running.delete(String(req.headers["x-webhook-id"]));
        });
        await super.serve(req, res);
      }
    },
  ],
  [
    "keeps the lock when the sender has hung up",
    "hang_up",
    class extends RightReceiver {
      override async run(request: Request, key: string, record: Fields) {
        await wait(30);
        if (request.req.socket.destroyed) return [503, "no one waits"] as const;
        return super.run(request, key, record);
      }
    },
    HANGS,
  ],
  [
    "handles nothing when the sender has hung up, but remembers the id",
    "hang_up",
    class extends RightReceiver {
      override async handle(request: Request, record: Fields) {
        await wait(30);
        if (!request.req.socket.destroyed) await super.handle(request, record);
      }
    },
  ],
];

/** Each handles something after the answer that it must not handle. */
const lateEffectFlaws: readonly Flaw[] = [
  [
    "handles a refused delivery a little later",
    "late_effects",
    class extends RightReceiver {
      override refuse(reason: Refusal, request?: Request) {
        if (reason === "mismatch" && request !== undefined) handleLater(this, request.id);
        return super.refuse(reason, request);
      }
    },
  ],
  [
    "handles an unsigned delivery a little later",
    "late_effects",
    class extends RightReceiver {
      override readHeaders(req: IncomingMessage, body: Buffer) {
        const id = this.header(req, "x-webhook-id");
        if (id !== undefined && req.headers["x-webhook-signature"] === undefined) {
          handleLater(this, id);
        }
        return super.readHeaders(req, body);
      }
    },
  ],
  [
    "handles a duplicate again a little later",
    "late_effects",
    class extends RightReceiver {
      override duplicate(request: Request) {
        handleLater(this, request.id);
        return super.duplicate(request);
      }
    },
  ],
  [
    "queues a duplicate in flight and handles it after the first one",
    "late_effects",
    class extends RightReceiver {
      override async handle(request: Request, record: Fields) {
        await wait(50);
        await super.handle(request, record);
      }
      override inFlight(request: Request) {
        handleLater(this, request.id);
        return super.inFlight(request);
      }
    },
  ],
];

/** Each goes wrong after its handler's time-out, after its sender has left, or after its answer. */
export const lateFlaws: readonly Flaw[] = [
  ...lateFailureFlaws,
  ...slowHandlerFlaws,
  ...hangUpFlaws,
  ...lateEffectFlaws,
];

/** Handles a delivery after a while, whatever becomes of it. */
function handleLater({ ledger }: RightReceiver, id: string): void {
  const handle = async (): Promise<void> => {
    await wait(A_LITTLE_LATER_MS);
    await ledger.record({ id });
  };
  handle().catch(() => undefined);
}
