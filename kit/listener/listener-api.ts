import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { jsonOf } from "../json-parts.js";
import { fixtureOf } from "./delivery-fixture.js";
import { differing, FILTERS, type DeliveryFilter } from "./delivery-log.js";
import { routeOf } from "./gate.js";
import type { ListenedDelivery } from "./listened-delivery.js";
import type { Listener } from "./listener.js";
import { readBody, SAFE_HEADERS, startServer, type LocalServer } from "./local-server.js";

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

const MAX_WAIT_SECONDS = 60;
/** How many deliveries one answer holds. */
const PAGE_LENGTH = 100;

/** Starts the API of a listener on 127.0.0.1, by default on a free port. Rejects with the system's error. */
export async function startApi(
  listener: Listener,
  page?: ListenerPage,
  allowHosts: readonly string[] = [],
  port = 0,
): Promise<ListenerApi> {
  const token = randomBytes(16).toString("hex");
  const closing = new AbortController();
  const answerTo = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const { method = "", url: target = "", headersDistinct: headers } = req;
    const passage = routeOf({ method, target, headers }, token);
    if ("route" in passage && passage.route === "page" && page !== undefined) {
      const own = {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": page.policy,
      };
      res.writeHead(200, { ...SAFE_HEADERS, ...own }).end(page.html);
      return;
    }
    const hungUp = new AbortController();
    res.on("close", () => hungUp.abort());
    const signal = AbortSignal.any([hungUp.signal, closing.signal]);
    const { status, body } = !("route" in passage)
      ? { status: passage.status, body: { error: passage.message } }
      : passage.route === "send"
        ? await send(listener, jsonOf((await readBody(req)).toString()))
        : passage.route === "deliveries"
          ? await deliveries(listener, passage.query, signal)
          : { status: 404, body: { error: "this server has no page" } };
    res.writeHead(status, SAFE_HEADERS).end(JSON.stringify(body));
  };
  const server = await startServer(answerTo, port, "127.0.0.1", allowHosts);
  return {
    ...server,
    token,
    close() {
      closing.abort();
      return server.close();
    },
  };
}

/** Those after `after` that match, oldest first, or all of one. Without one it waits. */
async function deliveries({ log }: Listener, query: URLSearchParams, signal: AbortSignal) {
  const { after = "0", wait = "0s", seq, fixture, ...filter } = Object.fromEntries(query);
  const given = log.all.find((one) => String(one.seq) === (seq ?? fixture));
  if (seq !== undefined) return { status: 200, body: { delivery: given } };
  if (fixture !== undefined) {
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
    const found = log.all.filter(
      (one) => one.seq > Number(after) && differing(one, wanted).length === 0,
    );
    return found.length === 0 ? undefined : found.slice(0, PAGE_LENGTH).map(listedOf);
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

/** Without its bodies: as JSON, a hundred of the largest would be half a gigabyte. */
function listedOf(delivery: ListenedDelivery): object {
  return { ...delivery, body: undefined, bodyBase64: undefined, answer: "" };
}

function wrong(message: string): Answer {
  return { status: 400, body: { error: message } };
}
