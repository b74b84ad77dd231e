import { createHash } from "node:crypto";
import http, { type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import type { Variant } from "./flaw.js";
import {
  RightReceiver,
  type Answer,
  type Fields,
  type Refusal,
  type Request,
} from "./right-receiver.js";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Receivers that do something unusual and harmless. */
export const VARIANTS: readonly Variant[] = [
  ["answers 204", answering([204, ""])],
  ["answers 202", answering([202, "accepted"])],
  ["answers 201 with a location", answering([201, "", { location: "/alarms/1" }])],
  ["answers HTML", answering([200, "<p>ok</p>", { "content-type": "text/html" }])],
  ["sets a cookie", answering([200, "ok", { "set-cookie": "session=1" }])],
  ["accepts only UUIDs as ids", withGrammar({ id: UUID })],
  ["answers 409 to upper-case hexadecimal", withGrammar({ signature: /^v1=[0-9a-f]{64}$/ })],
  ["answers 409 to a type that it does not know", onUnknown(409)],
  ["answers 500 to a record that it does not know", onUnknown(500)],
  ["answers 500 to a body that it cannot read", onUnreadable(500)],
  ["answers 409 to a body that it cannot read", onUnreadable(409)],
  ["answers 408 to an old timestamp", refusing("stale", 408)],
  ["tolerates two minutes", tolerating(120)],
  ["tolerates half an hour", tolerating(1_800)],
  ["stores hashes of ids", keyed(({ id }) => createHash("sha256").update(id).digest("base64"))],
  ["stores ids with their type", keyed(({ id, type }) => `${type}/${id}`)],
  ["stores UUIDs in upper case", keyed(({ id }) => (UUID.test(id) ? id.toUpperCase() : id))],
  [
    "has several secrets",
    class extends RightReceiver {
      override secrets(request: Request) {
        return [
          "whsec_old_0123456789abcdef",
          ...super.secrets(request),
          "whsec_next_0123456789abc",
        ];
      }
    },
  ],
  [
    "answers 409 to numbers as text",
    refusingRecords(({ id, account_id }) => typeof (id ?? account_id) === "string", 409),
  ],
  [
    "answers 503 to a record without a field",
    refusingRecords(
      (record) =>
        Object.values(record).some((value) => value === null || value === undefined) &&
        "text" in record,
      503,
    ),
  ],
  [
    "answers 503 to a payload that is no JSON",
    refusingRecords(({ payload }) => payload !== undefined && !isJson(payload), 503),
  ],
  [
    "answers 409 to a payload that is no object, and to odd members",
    class extends RightReceiver {
      override check(_: Fields, { body }: Request) {
        const isOdd = /__proto__|\[\[\[|\\u0000b|\\ud83d|\d{25}/.test(String(body));
        return isOdd ? ([409, "odd"] as const) : undefined;
      }
    },
  ],
  ["answers GET with a page", onMethods(["GET", "HEAD"], [200, "<h1>alive</h1>"])],
  [
    "answers 404 to other methods",
    onMethods(["GET", "HEAD", "PUT", "PATCH", "DELETE"], [404, "none"]),
  ],
  [
    "answers requests without a host with the page of another site",
    class extends RightReceiver {
      override receive(req: IncomingMessage, body: Buffer) {
        if (req.headers.host === undefined) return [200, "<h1>welcome</h1>"] as const;
        return super.receive(req, body);
      }
    },
  ],
  [
    "closes each connection",
    class extends RightReceiver {
      override async serve(req: IncomingMessage, res: ServerResponse) {
        res.setHeader("connection", "close");
        await super.serve(req, res);
      }
    },
  ],
  [
    "closes the connection without an answer at the limit of a body",
    class extends RightReceiver {
      override async readBody(req: IncomingMessage) {
        const body = await super.readBody(req);
        if (body === undefined) throw new Error("too large");
        return body;
      }
    },
  ],
  [
    "handles one delivery at a time, and answers 503 to the others",
    class extends RightReceiver {
      isBusy = false;
      override async handleOnce(request: Request, record: Fields): Promise<Answer> {
        if (this.isBusy) return [503, "busy", { "retry-after": "0" }];
        this.isBusy = true;
        try {
          await wait(2);
          return await super.handleOnce(request, record);
        } finally {
          this.isBusy = false;
        }
      }
    },
  ],
  [
    "handles deliveries one after another",
    class extends RightReceiver {
      last: Promise<unknown> = Promise.resolve();
      override handle(request: Request, record: Fields) {
        const handling = this.last.then(() => super.handle(request, record));
        this.last = handling.catch(() => undefined);
        return handling;
      }
    },
  ],
  [
    "takes a while for each delivery",
    class extends RightReceiver {
      override async handle(request: Request, record: Fields) {
        await wait(5);
        await super.handle(request, record);
      }
    },
  ],
  [
    "lets duplicates wait for the first one",
    class extends RightReceiver {
      readonly runs = new Map<string, Promise<Answer>>();
      override handleOnce(request: Request, record: Fields): Promise<Answer> {
        const { id } = request;
        const first = this.runs.get(id) ?? super.handleOnce(request, record);
        this.runs.set(id, first);
        return first.finally(() => this.runs.delete(id));
      }
    },
  ],
  [
    "accepts invalid bytes in headers and refuses them itself",
    class extends RightReceiver {
      override createServer() {
        return http.createServer({ insecureHTTPParser: true }, (req, res) => {
          void this.serve(req, res);
        });
      }
    },
  ],
  [
    "ends an id at a NUL, as PHP and C do",
    class extends RightReceiver {
      override createServer() {
        return http.createServer({ insecureHTTPParser: true }, (req, res) => {
          void this.serve(req, res);
        });
      }
      override header(req: IncomingMessage, name: string) {
        return super.header(req, name)?.replace(/\0.*/s, "");
      }
    },
  ],
  [
    "reads a form or another type itself and so refuses it",
    class extends RightReceiver {
      override isSigned(request: Request) {
        const type = String(request.req.headers["content-type"]);
        return !/form|;;;/.test(type) && super.isSigned(request);
      }
    },
  ],
  [
    "forgets ids after a thousand deliveries",
    class extends RightReceiver {
      override remember(key: string) {
        this.handled.add(key);
        const [oldest = ""] = this.handled;
        if (this.handled.size > 1_000) this.handled.delete(oldest);
      }
    },
  ],
];

type Grammar = ReturnType<RightReceiver["grammar"]>;

function answering(answer: Answer) {
  return class extends RightReceiver {
    override done() {
      return answer;
    }
    override duplicate() {
      return answer;
    }
  };
}

function withGrammar(changes: Partial<Grammar>) {
  return class extends RightReceiver {
    override grammar() {
      return { ...super.grammar(), ...changes };
    }
  };
}

function onUnknown(status: number) {
  return class extends RightReceiver {
    override unknown(): Answer {
      return [status, "unknown"];
    }
  };
}

function onUnreadable(status: number) {
  return class extends RightReceiver {
    override unreadable(): Answer {
      return [status, "unreadable"];
    }
  };
}

function refusing(refused: Refusal, status: number) {
  return class extends RightReceiver {
    override refuse(reason: Refusal): Answer {
      return reason === refused ? [status, reason] : super.refuse(reason);
    }
  };
}

function tolerating(seconds: number) {
  return class extends RightReceiver {
    override isFresh({ timestamp }: Request) {
      return Math.abs(Date.now() / 1_000 - Number(timestamp)) <= seconds;
    }
  };
}

function keyed(keyOf: (request: Request) => string) {
  return class extends RightReceiver {
    override keyOf(request: Request) {
      return keyOf(request);
    }
  };
}

function refusingRecords(isRefused: (record: Fields) => boolean, status: number) {
  return class extends RightReceiver {
    override check(record: Fields) {
      return isRefused(record) ? ([status, "later"] as const) : undefined;
    }
  };
}

function onMethods(methods: readonly string[], answer: Answer) {
  return class extends RightReceiver {
    override receive(req: IncomingMessage, body: Buffer) {
      return methods.includes(String(req.method)) ? answer : super.receive(req, body);
    }
  };
}

function isJson(text: unknown): boolean {
  try {
    JSON.parse(String(text));
    return true;
  } catch {
    return false;
  }
}
