import type { IncomingMessage } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import type { Flaw } from "./flaw.js";
import {
  RightReceiver,
  type Answer,
  type Fields,
  type Refusal,
  type Request,
} from "./right-receiver.js";

/** Each takes different deliveries for one. */
const businessKeyFlaws: readonly Flaw[] = [
  ["remembers accounts", "same_account", keyedBy(({ account_id }) => [account_id])],
  [
    "remembers accounts and types",
    "same_account",
    keyedBy(({ account_id, event_type, type }) => [account_id, event_type ?? type]),
  ],
  [
    "remembers accounts, types and sites",
    "same_account",
    keyedBy(({ id, account_id, type, site_id }) => [id, account_id, type, site_id]),
  ],
  [
    "remembers when a record was created",
    "same_account",
    keyedBy(({ created_at, occurred_at }) => [created_at ?? occurred_at]),
  ],
  [
    "acknowledges and drops a second alarm while it handles one of the same account",
    "same_account",
    class extends RightReceiver {
      readonly busyWith = new Map<unknown, string>();
      override async handleOnce(request: Request, record: Fields): Promise<Answer> {
        const { account_id } = record;
        const other = this.busyWith.get(account_id) ?? request.id;
        if (other !== request.id) return [200, "busy with this account"];
        this.busyWith.set(account_id, request.id);
        try {
          await wait(30);
          return await super.handleOnce(request, record);
        } finally {
          this.busyWith.delete(account_id);
        }
      }
    },
  ],
];

/** Each changes what it remembers on a request that it refuses. */
const refusedIdFlaws: readonly Flaw[] = [
  [
    "forgets an id when it refuses a forgery with it",
    "refusal_forgets_nothing",
    forgettingRefused("mismatch"),
  ],
  [
    "forgets an id when it refuses an old request with it",
    "refusal_forgets_nothing",
    forgettingRefused("stale"),
  ],
  [
    "forgets an id when the type of a request with it differs",
    "refusal_forgets_nothing",
    forgettingRefused("another type"),
  ],
  [
    "forgets an id when it cannot read a body with it",
    "refusal_forgets_nothing",
    class extends RightReceiver {
      override unreadable(error: unknown, request: Request) {
        this.handled.delete(request.id);
        return super.unreadable(error, request);
      }
    },
  ],
  [
    "remembers ids of unsigned requests",
    "forged_duplicate",
    class extends RightReceiver {
      override readHeaders(req: IncomingMessage, body: Buffer) {
        const request = super.readHeaders(req, body);
        if (request === undefined) this.handled.add(String(req.headers["x-webhook-id"]));
        return request;
      }
    },
  ],
  [
    "remembers ids of requests whose type differs",
    "forged_duplicate",
    class extends RightReceiver {
      override refuse(reason: Refusal, request?: Request) {
        if (reason === "another type" && request !== undefined) this.handled.add(request.id);
        return super.refuse(reason, request);
      }
    },
  ],
  [
    "remembers ids of bodies that it cannot read",
    "forged_duplicate",
    class extends RightReceiver {
      override unreadable(error: unknown, request: Request) {
        this.handled.add(request.id);
        return super.unreadable(error, request);
      }
    },
  ],
  [
    "remembers ids of records that it does not know",
    "forged_duplicate",
    class extends RightReceiver {
      override unknown(request: Request) {
        this.handled.add(request.id);
        return super.unknown(request);
      }
    },
  ],
];

/** Each lets forgers shut the gateway out. */
const banFlaws: readonly Flaw[] = [
  [
    "bans an address after a hundred wrong signatures",
    "ban_after_forgeries",
    banning(100, [403, "banned"]),
  ],
  [
    "answers 409 to an address after a hundred wrong signatures",
    "ban_after_forgeries",
    banning(100, [409, "banned"]),
  ],
];

/** Each remembers something else than the ids of handled deliveries. */
export const memoryFlaws: readonly Flaw[] = [...businessKeyFlaws, ...refusedIdFlaws, ...banFlaws];

function keyedBy(partsOf: (record: Fields) => readonly unknown[]) {
  return class extends RightReceiver {
    override keyOf({ body }: Request) {
      const { alarm, event } = JSON.parse(String(body).replace(/^\uFEFF/, "")) as Record<
        string,
        Fields
      >;
      return JSON.stringify(partsOf(alarm ?? event ?? {}));
    }
  };
}

function forgettingRefused(reason: Refusal) {
  return class extends RightReceiver {
    override refuse(given: Refusal, request?: Request): Answer {
      if (given === reason && request !== undefined) this.handled.delete(request.id);
      return super.refuse(given, request);
    }
  };
}

function banning(limit: number, answer: Answer) {
  return class extends RightReceiver {
    forgeries = 0;
    override refuse(reason: Refusal, request?: Request): Answer {
      if (reason === "mismatch") this.forgeries += 1;
      return super.refuse(reason, request);
    }
    override async process(request: Request) {
      return this.forgeries >= limit ? answer : super.process(request);
    }
  };
}
