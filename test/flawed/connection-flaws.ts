import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import {
  doingFirst,
  hanging,
  Meeting,
  never,
  overriding,
  parsingLoosely,
  type Flaws,
} from "./flaw.js";
import type { Answer, Request } from "./right-receiver.js";

/** Each mixes requests up that are under way at the same time. */
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
    "acknowledges and drops what comes while it is busy": busy([200, "busy"]),
    "answers 400 while it is busy": busy([400, "busy"]),
    "redirects while it is busy": busy([302, "busy"]),
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
          for (const one of [...batch]) {
            await right.handle(one, record);
            await wait(5);
          }
          batch = [];
        },
      };
    }),
  },
  interleaved_uploads: {
    "collects all bodies in one buffer": overriding((right) => {
      let pieces: Buffer[] = [];
      return {
        async readBody(req) {
          req.on("data", (piece: Buffer) => pieces.push(piece));
          if ((await right.readBody(req)) === undefined) return undefined;
          const body = Buffer.concat(pieces);
          pieces = [];
          return body;
        },
      };
    }),
    "empties a shared buffer when a request begins": overriding((right) => {
      let pieces: Buffer[] = [];
      return {
        async readBody(req) {
          pieces = [];
          req.on("data", (piece: Buffer) => pieces.push(piece));
          const body = await right.readBody(req);
          return body && Buffer.concat(pieces);
        },
      };
    }),
  },
};

/** Each reads requests or keeps connections in a wrong way. */
const transportFlaws: Flaws = {
  split_characters: {
    "decodes each packet separately": overriding((right) => ({
      async readBody(req) {
        let text = "";
        req.on("data", (piece: Buffer) => (text += String(piece)));
        const body = await right.readBody(req);
        return body && Buffer.from(text);
      },
    })),
    "takes the first packet for the body": overriding((right) => ({
      async readBody(req) {
        let first: Buffer | undefined;
        req.on("data", (piece: Buffer) => (first ??= piece));
        const body = await right.readBody(req);
        return body && (first ?? body);
      },
    })),
  },
  chunked: {
    "reads as many bytes as Content-Length says": overriding((right) => ({
      async readBody(req) {
        const body = await right.readBody(req);
        return body?.subarray(0, Number(req.headers["content-length"] ?? 0));
      },
    })),
  },
  header_case: {
    "looks headers up in their documented letter case": overriding({
      header({ rawHeaders }, name) {
        const exact = name.replace(/(?<![a-z])[a-z]/g, (letter) => letter.toUpperCase());
        const at = rawHeaders.indexOf(exact);
        return at === -1 ? undefined : rawHeaders[at + 1];
      },
    }),
  },
  broken_upload: {
    "handles an upload that broke off": doingFirst("serve", (right, req) =>
      req.on("close", () => {
        const id = right.header(req, "x-webhook-id") ?? "";
        if (!req.complete) void right.ledger.record({ id });
      }),
    ),
    "ends its process when an upload breaks off": overriding((right) => {
      let hasEnded = false;
      return {
        async serve(req, res) {
          req.on("close", () => (hasEnded ||= !req.complete));
          if (hasEnded) res.destroy();
          else await right.serve(req, res);
        },
      };
    }),
  },
  keep_alive: {
    "takes the rest of a refused body for the next request": overriding((right) => {
      const confused = new WeakSet<Socket>();
      return {
        async serve(req, res) {
          const { socket } = req;
          res.on("finish", () => {
            if (res.statusCode !== 200) confused.add(socket);
          });
          if (confused.has(socket)) res.writeHead(400).end();
          else await right.serve(req, res);
        },
      };
    }),
  },
  expect_continue: {
    "never sends 100 Continue": overriding((right) => ({
      createServer: () =>
        right.createServer().on("checkContinue", (req, res) => {
          void right.serve(req, res);
        }),
    })),
    "answers 417 to Expect: 100-continue": overriding((right) => ({
      createServer: () =>
        right.createServer().on("checkContinue", (_req, res: ServerResponse) => {
          res.writeHead(417, { connection: "close" }).end();
        }),
    })),
  },
  unlimited_body: {
    "reads a body without a limit": overriding((right) => ({
      readBody: (req) => right.readBody(req, Number.POSITIVE_INFINITY),
    })),
    "limits a body by its Content-Length alone": overriding((right) => ({
      readBody(req) {
        const isChunked = req.headers["content-length"] === undefined;
        return isChunked ? right.readBody(req, Number.POSITIVE_INFINITY) : right.readBody(req);
      },
    })),
  },
  big_forgery: {
    "accepts nothing after a body over the limit": overriding((right) => {
      let isFull = false;
      return {
        async readBody(req) {
          const body = isFull ? undefined : await right.readBody(req);
          isFull ||= body === undefined;
          return body;
        },
      };
    }),
  },
  oversize: {
    "does not answer a genuine body over the limit": hanging(
      overriding((right) => ({
        readBody: async (req) => (await right.readBody(req)) ?? never(),
      })),
    ),
  },
  invalid_header_bytes: {
    "drops control characters from headers": parsingLoosely((value) =>
      value.replace(/[^!-~]/g, ""),
    ),
    "drops what is beyond ASCII from headers": overriding((right) => ({
      header: (req, name) => right.header(req, name)?.replace(/[^ -~]/g, ""),
    })),
  },
};

export const connectionFlaws: readonly Flaws[] = [concurrencyFlaws, transportFlaws];

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
