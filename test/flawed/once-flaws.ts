import { createHash } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { HANGS, Meeting, type Flaw } from "./flaw.js";
import {
  RightReceiver,
  type Answer,
  type Fields,
  type Refusal,
  type Request,
} from "./right-receiver.js";

/** Each handles a delivery twice, or loses it. */
export const onceFlaws: readonly Flaw[] = [
  [
    "remembers no ids",
    "duplicate_handled_once",
    class extends RightReceiver {
      override handleOnce(request: Request, record: Fields) {
        return this.run(request, request.id, record);
      }
      override remember() {
        // It does not.
      }
    },
  ],
  [
    "remembers ids of alarms alone",
    "duplicate_handled_once",
    class extends RightReceiver {
      override remember(key: string, request: Request) {
        if (request.type === "new_alarm") super.remember(key, request);
      }
    },
  ],
  ["remembers 8 characters of an id", "duplicate_handled_once", keyed(({ id }) => id.slice(0, 8))],
  [
    "remembers 32 characters of an id",
    "duplicate_handled_once",
    keyed(({ id }) => id.slice(0, 32)),
  ],
  ["remembers ids in lower case", "duplicate_handled_once", keyed(({ id }) => id.toLowerCase())],
  [
    "remembers the digits of an id",
    "duplicate_handled_once",
    keyed(({ id }) => id.replace(/\D/g, "").slice(0, 9)),
  ],
  [
    "remembers id and timestamp",
    "retry_with_new_signature",
    keyed(({ id, timestamp }) => `${id} ${timestamp}`),
  ],
  ["remembers signatures", "retry_with_new_signature", keyed(({ signature }) => signature)],
  [
    "remembers hashes of bodies",
    "duplicate_by_id_alone",
    keyed(({ body }) => createHash("sha256").update(body).digest("hex")),
  ],
  [
    "remembers id and body",
    "duplicate_by_id_alone",
    keyed(({ id, body }) => createHash("sha256").update(id).update(body).digest("hex")),
  ],
  [
    "answers 422 to a body that it knows",
    "duplicate_by_id_alone",
    class extends RightReceiver {
      readonly ids = new Map<string, string>();
      override check(_: Fields, { id, body }: Request) {
        const first = this.ids.get(String(body)) ?? id;
        this.ids.set(String(body), first);
        return first === id ? undefined : ([422, "duplicate record"] as const);
      }
    },
  ],
  ["answers 409 to a duplicate", "duplicate_acknowledged", answeringDuplicates(409), HANGS],
  ["answers 400 to a duplicate", "duplicate_acknowledged", answeringDuplicates(400)],
  ["forgets an id after ten deliveries", "duplicate_after_others", rememberingLast(10)],
  ["forgets an id after fifty deliveries", "duplicate_after_others", rememberingLast(50)],
  [
    "forgets all ids when it has forty of them",
    "duplicate_after_others",
    class extends RightReceiver {
      override remember(key: string) {
        if (this.handled.size >= 40) this.handled.clear();
        this.handled.add(key);
      }
    },
  ],
  [
    "forgets an id after a second",
    "duplicate_after_others",
    class extends RightReceiver {
      override remember(key: string) {
        this.handled.add(key);
        setTimeout(() => this.handled.delete(key), 1_000).unref();
      }
    },
  ],
  [
    "checks and remembers an id in two steps",
    "concurrent_duplicates_handled_once",
    class extends RightReceiver {
      readonly meeting = new Meeting();
      override async handleOnce(request: Request, record: Fields) {
        if (this.handled.has(request.id)) return this.duplicate(request);
        await this.meeting.wait();
        return this.run(request, request.id, record);
      }
    },
  ],
  [
    "checks and remembers the id of an event in two steps",
    "concurrent_duplicates_handled_once",
    class extends RightReceiver {
      readonly meeting = new Meeting();
      override async handleOnce(request: Request, record: Fields) {
        if (request.type === "new_alarm") return super.handleOnce(request, record);
        if (this.handled.has(request.id)) return this.duplicate(request);
        await this.meeting.wait();
        return this.run(request, request.id, record);
      }
    },
  ],
  [
    "answers 404 to a duplicate in flight",
    "concurrent_duplicates",
    class extends RightReceiver {
      override async handle(request: Request, record: Fields) {
        await wait(100);
        await super.handle(request, record);
      }
      override inFlight(): Answer {
        return [404, "in flight"];
      }
    },
  ],
  [
    "acknowledges a duplicate in flight",
    "failure_sent_again",
    class extends RightReceiver {
      override inFlight(): Answer {
        return [200, "in flight"];
      }
    },
  ],
  ["answers before it handles", "failure_sent_again", answeringFirst(() => true)],
  [
    "answers events before it handles them",
    "failure_sent_again",
    answeringFirst(({ type }) => type !== "new_alarm"),
  ],
  ["acknowledges failed deliveries", "failure_sent_again", onFailure(200)],
  ["answers 422 when the handler fails", "failure_sent_again", onFailure(422)],
  [
    "acknowledges failed events",
    "failure_sent_again",
    class extends RightReceiver {
      override failed({ type }: Request): Answer {
        return [type === "new_alarm" ? 500 : 200, "failed"];
      }
    },
  ],
  [
    "remembers failed deliveries as handled",
    "failure_sent_again",
    class extends RightReceiver {
      override failed(request: Request, key: string) {
        this.handled.add(key);
        return super.failed(request, key);
      }
    },
  ],
  [
    "remembers failed events as handled",
    "failure_sent_again",
    class extends RightReceiver {
      override failed(request: Request, key: string) {
        if (request.type !== "new_alarm") this.handled.add(key);
        return super.failed(request, key);
      }
    },
  ],
  [
    "remembers an id before it handles the delivery",
    "failure_sent_again",
    class extends RightReceiver {
      override async run(request: Request, key: string, record: Fields) {
        this.remember(key, request);
        return super.run(request, key, record);
      }
    },
  ],
  [
    "keeps the lock of a failed delivery",
    "failure_sent_again",
    class extends RightReceiver {
      override failed(request: Request, key: string) {
        this.running.add(key);
        return super.failed(request, key);
      }
    },
    HANGS,
  ],
  [
    "answers 409 forever after a late handler",
    "late_handler_counts",
    class extends RightReceiver {
      override remember(key: string, request: Request) {
        if (this.late.has(key)) setImmediate(() => this.running.add(key));
        else super.remember(key, request);
      }
      readonly late = new Set<string>();
      override async answerLate(key: string) {
        const answer = await super.answerLate(key);
        this.late.add(key);
        return answer;
      }
    },
    HANGS,
  ],
  [
    "forgets late handlers",
    "late_handler_counts",
    class extends RightReceiver {
      readonly late = new Set<string>();
      override remember(key: string, request: Request) {
        if (!this.late.has(key)) super.remember(key, request);
      }
      override async answerLate(key: string) {
        const answer = await super.answerLate(key);
        if (this.running.has(key)) this.late.add(key);
        return answer;
      }
    },
  ],
  [
    "gives the lock of a late handler away",
    "late_handler_counts",
    class extends RightReceiver {
      override async answerLate(key: string) {
        const answer = await super.answerLate(key);
        this.running.delete(key);
        return answer;
      }
      override remember(key: string, request: Request) {
        if (this.running.has(key)) super.remember(key, request);
      }
    },
  ],
  [
    "answers 400 to a late handler",
    "late_handler_counts",
    class extends RightReceiver {
      override async answerLate(key: string): Promise<Answer> {
        await super.answerLate(key);
        return [400, "late"];
      }
    },
  ],
  ["remembers ids of forged deliveries", "forged_duplicate", rememberingRefused("mismatch")],
  ["remembers ids of stale deliveries", "forged_duplicate", rememberingRefused("stale")],
  [
    "answers 404 to an id that it has refused",
    "forged_duplicate",
    class extends RightReceiver {
      readonly refused = new Set<string>();
      override refuse(reason: Refusal, request?: Request): Answer {
        if (request !== undefined) this.refused.add(request.id);
        return super.refuse(reason, request);
      }
      override process(request: Request) {
        if (this.refused.has(request.id)) return Promise.resolve([404, "refused"] as const);
        return super.process(request);
      }
    },
  ],
];

function keyed(keyOf: (request: Request) => string) {
  return class extends RightReceiver {
    override keyOf(request: Request) {
      return keyOf(request);
    }
  };
}

function answeringDuplicates(status: number) {
  return class extends RightReceiver {
    override duplicate(): Answer {
      return [status, "duplicate"];
    }
  };
}

function rememberingLast(count: number) {
  return class extends RightReceiver {
    override remember(key: string) {
      this.handled.add(key);
      const [oldest = ""] = this.handled;
      if (this.handled.size > count) this.handled.delete(oldest);
    }
  };
}

/** Acknowledges some deliveries, then handles them, whatever comes of it. */
function answeringFirst(isFirst: (request: Request) => boolean) {
  return class extends RightReceiver {
    override async run(request: Request, key: string, record: Fields) {
      const handling = super.run(request, key, record);
      if (!isFirst(request)) return handling;
      this.remember(key, request);
      return [202, "accepted"] as const;
    }
  };
}

function onFailure(status: number) {
  return class extends RightReceiver {
    override failed(): Answer {
      return [status, "failed"];
    }
  };
}

function rememberingRefused(remembered: Refusal) {
  return class extends RightReceiver {
    override refuse(reason: Refusal, request?: Request): Answer {
      if (request !== undefined && reason === remembered) this.handled.add(request.id);
      return super.refuse(reason, request);
    }
  };
}
