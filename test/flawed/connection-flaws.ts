import http, { type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { HANGS, Meeting, type Flaw } from "./flaw.js";
import { RightReceiver, type Answer, type Fields, type Request } from "./right-receiver.js";

/** Each mixes requests up that are under way at the same time. */
const concurrencyFlaws: readonly Flaw[] = [
  [
    "keeps the current delivery in one variable",
    "concurrent_deliveries",
    class extends RightReceiver {
      current: Request | undefined;
      readonly meeting = new Meeting();
      override async handleOnce(request: Request, record: Fields) {
        this.current = request;
        await this.meeting.wait();
        return super.handleOnce(this.current, record);
      }
    },
  ],
  [
    "acknowledges and drops what comes while it is busy",
    "concurrent_deliveries",
    busy([200, "busy"]),
  ],
  ["answers 400 while it is busy", "concurrent_deliveries", busy([400, "busy"])],
  ["redirects while it is busy", "concurrent_deliveries", busy([302, "busy"])],
  [
    "handles only the last of several deliveries",
    "concurrent_deliveries",
    class extends RightReceiver {
      latest = 0;
      readonly meeting = new Meeting();
      override async handle(request: Request, record: Fields) {
        const own = (this.latest += 1);
        await this.meeting.wait();
        if (own === this.latest) await super.handle(request, record);
      }
    },
  ],
  [
    "handles a batch twice when it grows meanwhile",
    "concurrent_deliveries",
    class extends RightReceiver {
      batch: Request[] = [];
      readonly meeting = new Meeting();
      override async handle(request: Request, record: Fields) {
        this.batch.push(request);
        await this.meeting.wait();
        for (const one of [...this.batch]) {
          await super.handle(one, record);
          await wait(5);
        }
        this.batch = [];
      }
    },
  ],
  [
    "collects all bodies in one buffer",
    "interleaved_uploads",
    class extends RightReceiver {
      pieces: Buffer[] = [];
      override async readBody(req: IncomingMessage) {
        req.on("data", (piece: Buffer) => this.pieces.push(piece));
        if ((await super.readBody(req)) === undefined) return undefined;
        const body = Buffer.concat(this.pieces);
        this.pieces = [];
        return body;
      }
    },
  ],
  [
    "empties a shared buffer when a request begins",
    "interleaved_uploads",
    class extends RightReceiver {
      pieces: Buffer[] = [];
      override async readBody(req: IncomingMessage) {
        this.pieces = [];
        req.on("data", (piece: Buffer) => this.pieces.push(piece));
        const body = await super.readBody(req);
        return body && Buffer.concat(this.pieces);
      }
    },
  ],
];

/** Each reads requests or keeps connections in a wrong way. */
const transportFlaws: readonly Flaw[] = [
  [
    "decodes each packet separately",
    "split_characters",
    class extends RightReceiver {
      override async readBody(req: IncomingMessage) {
        let text = "";
        req.on("data", (piece: Buffer) => (text += String(piece)));
        const body = await super.readBody(req);
        return body && Buffer.from(text);
      }
    },
  ],
  [
    "takes the first packet for the body",
    "split_characters",
    class extends RightReceiver {
      override async readBody(req: IncomingMessage) {
        let first: Buffer | undefined;
        req.on("data", (piece: Buffer) => (first ??= piece));
        const body = await super.readBody(req);
        return body && (first ?? body);
      }
    },
  ],
  [
    "reads as many bytes as Content-Length says",
    "chunked",
    class extends RightReceiver {
      override async readBody(req: IncomingMessage) {
        const body = await super.readBody(req);
        return body?.subarray(0, Number(req.headers["content-length"] ?? 0));
      }
    },
  ],
  [
    "looks headers up in their documented letter case",
    "header_case",
    class extends RightReceiver {
      override header({ rawHeaders }: IncomingMessage, name: string) {
        const exact = name.replace(/(?<![a-z])[a-z]/g, (letter) => letter.toUpperCase());
        const at = rawHeaders.indexOf(exact);
        return at === -1 ? undefined : rawHeaders[at + 1];
      }
    },
  ],
  [
    "handles an upload that broke off",
    "broken_upload",
    class extends RightReceiver {
      override async serve(req: IncomingMessage, res: ServerResponse) {
        req.on("close", () => {
          const id = this.header(req, "x-webhook-id") ?? "";
          if (!req.complete) void this.ledger.record({ id });
        });
        await super.serve(req, res);
      }
    },
  ],
  [
    "ends its process when an upload breaks off",
    "broken_upload",
    class extends RightReceiver {
      hasEnded = false;
      override async serve(req: IncomingMessage, res: ServerResponse) {
        req.on("close", () => (this.hasEnded ||= !req.complete));
        if (this.hasEnded) res.destroy();
        else await super.serve(req, res);
      }
    },
  ],
  [
    "takes the rest of a refused body for the next request",
    "keep_alive",
    class extends RightReceiver {
      readonly confused = new WeakSet<Socket>();
      override async serve(req: IncomingMessage, res: ServerResponse) {
        const { socket } = req;
        if (this.confused.has(socket)) {
          res.writeHead(400).end();
          return;
        }
        res.on("finish", () => {
          if (res.statusCode !== 200) this.confused.add(socket);
        });
        await super.serve(req, res);
      }
    },
  ],
  [
    "never sends 100 Continue",
    "expect_continue",
    class extends RightReceiver {
      override createServer() {
        return super
          .createServer()
          .on("checkContinue", (req: IncomingMessage, res: ServerResponse) => {
            void this.serve(req, res);
          });
      }
    },
  ],
  [
    "answers 417 to Expect: 100-continue",
    "expect_continue",
    class extends RightReceiver {
      override createServer() {
        return super.createServer().on("checkContinue", (_: unknown, res: ServerResponse) => {
          res.writeHead(417, { connection: "close" }).end();
        });
      }
    },
  ],
  [
    "reads a body without a limit",
    "unlimited_body",
    class extends RightReceiver {
      override readBody(req: IncomingMessage) {
        return super.readBody(req, Number.POSITIVE_INFINITY);
      }
    },
  ],
  [
    "limits a body by its Content-Length alone",
    "unlimited_body",
    class extends RightReceiver {
      override readBody(req: IncomingMessage) {
        const isChunked = req.headers["content-length"] === undefined;
        return isChunked ? super.readBody(req, Number.POSITIVE_INFINITY) : super.readBody(req);
      }
    },
  ],
  [
    "accepts nothing after a body over the limit",
    "big_forgery",
    class extends RightReceiver {
      isFull = false;
      override async readBody(req: IncomingMessage) {
        const body = this.isFull ? undefined : await super.readBody(req);
        this.isFull ||= body === undefined;
        return body;
      }
    },
  ],
  [
    "does not answer a genuine body over the limit",
    "oversize",
    class extends RightReceiver {
      override async readBody(req: IncomingMessage) {
        return (await super.readBody(req)) ?? new Promise<never>(() => undefined);
      }
    },
    HANGS,
  ],
  [
    "drops control characters from headers",
    "invalid_header_bytes",
    class extends RightReceiver {
      override createServer() {
        const options = { insecureHTTPParser: true };
        return http.createServer(options, (req, res) => {
          void this.serve(req, res);
        });
      }
      override header(req: IncomingMessage, name: string) {
        return super.header(req, name)?.replace(/[^!-~]/g, "");
      }
    },
  ],
  [
    "drops what is beyond ASCII from headers",
    "invalid_header_bytes",
    class extends RightReceiver {
      override header(req: IncomingMessage, name: string) {
        return super.header(req, name)?.replace(/[^ -~]/g, "");
      }
    },
  ],
];

export const connectionFlaws: readonly Flaw[] = [...concurrencyFlaws, ...transportFlaws];

/** Handles one delivery at a time, and answers this to the others. */
function busy(answer: Answer) {
  return class extends RightReceiver {
    isBusy = false;
    override async handleOnce(request: Request, record: Fields) {
      if (this.isBusy) return answer;
      this.isBusy = true;
      await wait(30);
      this.isBusy = false;
      return super.handleOnce(request, record);
    }
  };
}
