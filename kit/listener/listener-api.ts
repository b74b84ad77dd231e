import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { jsonOf } from "../json-parts.js";
import { fixtureOf } from "./delivery-fixture.js";
import { FILTERS, matches, type DeliveryFilter } from "./delivery-log.js";
import { gate } from "./gate.js";
import type { Listener } from "./listener.js";
import { startServer, type LocalServer } from "./local-server.js";

/** The page of a listener. */
export interface ListenerPage {
  readonly html: string;
  /** Its Content-Security-Policy. */
  readonly policy: string;
}

/** A server with the API of a listener, on this machine alone. */
export interface ListenerApi extends LocalServer {
  /** 128 bits, for the header `Authorization: Bearer <token>`. */
  readonly token: string;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

const MAX_BODY_BYTES = 4_194_304;
const MAX_WAIT_SECONDS = 60;
/** How many deliveries one answer holds. */
const PAGE_LENGTH = 100;

const HEADERS = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/** Starts the API of a listener on a free port of 127.0.0.1. */
export async function startApi(listener: Listener, page?: ListenerPage): Promise<ListenerApi> {
  const token = randomBytes(16).toString("hex");
  const closing = new AbortController();
  const server = await startServer(
    (req, res) => {
      void answerTo(req, res, port());
    },
    0,
    "127.0.0.1",
  );
  const port = (): number => server.port;

  const answerTo = async (req: IncomingMessage, res: ServerResponse, port: number) => {
    const { method = "", url: target = "", headersDistinct: headers } = req;
    const passage = gate({ method, target, headers }, { port, token });
    const write = (status: number, type: string, body: string, more = {}): void => {
      res.writeHead(status, { ...HEADERS, "content-type": type, ...more }).end(body);
      req.resume();
    };
    if ("route" in passage && passage.route === "page" && page !== undefined) {
      write(200, "text/html; charset=utf-8", page.html, { "content-security-policy": page.policy });
      return;
    }
    const hungUp = new AbortController();
    res.on("close", () => hungUp.abort());
    const { status, body } = !("route" in passage)
      ? { status: passage.status, body: { error: passage.message } }
      : passage.route === "send"
        ? await send(listener, await readJson(req))
        : passage.route === "deliveries"
          ? await deliveries(
              listener,
              passage.query,
              AbortSignal.any([hungUp.signal, closing.signal]),
            )
          : { status: 404, body: { error: "this server has no page" } };
    write(status, "application/json", JSON.stringify(body));
  };
  return {
    ...server,
    token,
    close() {
      closing.abort();
      return server.close();
    },
  };
}

/** Those after `after` that match, oldest first. Without one it waits. */
async function deliveries(
  { log }: Listener,
  query: URLSearchParams,
  signal: AbortSignal,
): Promise<Answer> {
  const { after = "0", wait = "0s", fixture, ...filter } = Object.fromEntries(query);
  if (fixture !== undefined) {
    const given = log.all.find(({ seq }) => String(seq) === fixture);
    return { status: 200, body: { fixture: given && (await fixtureOf(given)) } };
  }
  const [, seconds] = /^(\d{1,2})s$/.exec(wait) ?? [];
  const unknown = Object.keys(filter).find(
    (name) => !(FILTERS as readonly string[]).includes(name),
  );
  if (unknown !== undefined) return wrong(`there is no parameter ${unknown.slice(0, 40)}`);
  if (!/^\d{1,15}$/.test(after)) return wrong("after must be the seq of a delivery, or 0");
  if (seconds === undefined || Number(seconds) > MAX_WAIT_SECONDS) {
    return wrong(`wait must be whole seconds up to ${MAX_WAIT_SECONDS}s, such as 30s`);
  }
  const wanted = Object.fromEntries(
    Object.entries(filter).map(([name, value]) => [
      name,
      name === "accountId" || name === "status" ? Number(value) : value,
    ]),
  ) as DeliveryFilter;
  const find = () => {
    const found = log.all.filter((one) => one.seq > Number(after) && matches(one, wanted));
    return found.length === 0 ? undefined : found.slice(0, PAGE_LENGTH);
  };
  const found = (await log.wait(find, Number(seconds) * 1_000, signal)) ?? [];
  return { status: 200, body: { deliveries: found, last: log.last } };
}

async function send(listener: Listener, given: unknown): Promise<Answer> {
  const { again, sign, body, sample, failNext, answer } = Object(given) as Record<string, unknown>;
  if (Number.isInteger(failNext) && Number(failNext) >= 0 && Number(failNext) <= 1_000) {
    listener.failNext(Number(failNext), answer === "no_answer" ? "no_answer" : "500");
    return { status: 200, body: {} };
  }
  const text = typeof body === "string" ? { body } : {};
  const delivery =
    typeof sample === "string"
      ? await listener.send({ sample })
      : typeof again === "number"
        ? await listener.send({ again, sign: sign === true, ...text })
        : undefined;
  if (delivery === undefined) {
    return wrong("give sample, failNext, or the seq of a delivery that is remembered as again");
  }
  return { status: 200, body: { delivery } };
}

function wrong(message: string): Answer {
  return { status: 400, body: { error: message } };
}

/** Undefined if it is not JSON, or too long. */
async function readJson(req: IncomingMessage): Promise<unknown> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of req as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > MAX_BODY_BYTES) return undefined;
    pieces.push(piece);
  }
  return jsonOf(Buffer.concat(pieces).toString());
}
