import https from "node:https";
import { describe, expect, it } from "vitest";
import { nodeHandler } from "../../adapters/node.js";
import {
  answerTo,
  failureOf,
  idsOf,
  runSuiteOnListener,
  runSuite,
  ledgerReceiver,
  type Answering,
} from "../support/testing/run-suite.js";
import { createLedger } from "../support/ledger.js";
import { testCertificate } from "../support/servers.js";
import { serving } from "../support/serving.js";

/** A receiver of this library behind a front, which answers itself or passes the request on. */
function behind(front: (request: Request) => Response | undefined | Promise<Response>): Answering {
  const receiver = ledgerReceiver(createLedger());
  return async (request) => {
    const own = await front(request);
    if (own !== undefined) return own;
    const { body, status } = await answerTo(request, receiver);
    return new Response(body, { status });
  };
}

const closesConnection = () => Promise.reject(new Error("closed"));
const idOf = ({ headers }: Request): string => headers.get("x-webhook-id") ?? "";

/** Counts how often an id has arrived, this time included. */
function counting(): (request: Request) => number {
  const counts = new Map<string, number>();
  return (request) => {
    const count = (counts.get(idOf(request)) ?? 0) + 1;
    counts.set(idOf(request), count);
    return count;
  };
}

describe("receivers that do not conform", () => {
  it("a receiver that does not answer a forgery fails", async () => {
    const target = behind(({ headers }) =>
      headers.has("x-webhook-signature") ? undefined : closesConnection(),
    );
    const failure = await failureOf("unsigned", { target });
    expect(failure.message).toBe(
      "no signature: expected a refusal, got no answer (the request failed: closed)",
    );
    const reasonOf = async (id: string) => (await failureOf(id, { target })).message;
    expect(await reasonOf("no_server_errors")).toContain("no signature: expected an answer, got");
    expect(await reasonOf("no_echo")).toContain("a delivery without a signature: expected an");
  });

  it("a receiver that refuses genuine deliveries and does not answer others fails", async () => {
    const target: Answering = ({ headers }) =>
      headers.has("x-webhook-signature") ? new Response("", { status: 500 }) : closesConnection();
    const failure = await failureOf("unsigned_sent_again", { target });
    expect(failure.message).toContain("no signature: expected an answer, got no answer (");
  });

  it("a receiver that handles a forgery which it refuses fails", async () => {
    const ledger = createLedger();
    const target = behind((request) => {
      if (request.headers.has("x-webhook-signature")) return undefined;
      void ledger.record({ id: idOf(request) });
      return new Response("", { status: 409 });
    });
    const failure = await failureOf("unsigned", { target, handled: ledger.handled });
    expect(failure.message).toContain("no signature: answered 409, ");
    expect(failure.message).toContain(", but handled once");
  });

  it("a receiver that refuses genuine deliveries after a body over the limit fails", async () => {
    let wasBig = false;
    const target = behind(({ headers }) => {
      wasBig ||= Number(headers.get("content-length")) > 1_048_576;
      return wasBig ? new Response("", { status: 500 }) : undefined;
    });
    const failure = await failureOf("big_forgery", { target });
    expect(failure.message).toContain(
      "a genuine delivery after a body over the limit: expected 2xx, got 500",
    );
  });

  it("a receiver that handles a GET fails", async () => {
    const target = behind(({ method }) =>
      method === "GET" ? new Response('{"outcome":"handled"}') : undefined,
    );
    const failure = await failureOf("redirected_delivery", { target });
    expect(failure.message).toBe(
      "GET with the headers of a delivery: expected a refusal, got 200, which acknowledges the delivery",
    );
  });

  it("a receiver that answers 404 to GET passes with a note, since the gateway may look whether the URL is reachable", async () => {
    const reasonOf = async (target: Answering): Promise<string | undefined> => {
      const { results } = await runSuite({ target }, ["other_methods"]);
      expect(results).toMatchObject([{ id: "other_methods", result: "passed" }]);
      return results[0]?.reason;
    };
    const target = behind(({ method }) =>
      method === "GET" ? new Response("", { status: 404 }) : undefined,
    );
    expect(await reasonOf(target)).toMatch(/^GET was answered 404\. .* mount by app\.all/);
    expect(await reasonOf(behind(() => undefined))).toBeUndefined();
  });

  it("a receiver that accepts only one delivery fails", async () => {
    let requests = 0;
    const target = behind(() => {
      requests += 1;
      return requests > 1 ? new Response("", { status: 409 }) : undefined;
    });
    const failure = await failureOf("duplicate_acknowledged", { target });
    expect(failure.message).toContain("the first request: expected 2xx, got 409");
  });

  it("a receiver that answers 409 to every duplicate fails", async () => {
    const countOf = counting();
    const target = behind((request) =>
      countOf(request) > 1 ? new Response("", { status: 409 }) : undefined,
    );
    const options = { target, timeoutMs: 300 };
    const failure = await failureOf("duplicate_acknowledged", options);
    expect(failure.message).toContain("the duplicate: expected 2xx, got 409");
    // The case sends again until its time is over.
    const later = await failureOf("concurrent_duplicates", options);
    expect(later.message).toContain("the duplicate after them: expected 2xx, got 409");
    expect(later.exchanges.length).toBeGreaterThan(9);
  });

  it("a receiver that answers 404 to a concurrent duplicate fails", async () => {
    const countOf = counting();
    const target = behind((request) =>
      countOf(request) > 1 ? new Response("", { status: 404 }) : undefined,
    );
    const failure = await failureOf("concurrent_duplicates", { target });
    expect(failure.message).toContain("a duplicate: expected 2xx or a retryable status, got 404");
  });

  it("a receiver that refuses the body of an earlier delivery fails", async () => {
    const bodies = new Map<string, string>();
    const target = behind(async (request) => {
      const body = await request.clone().text();
      const known = bodies.get(body) ?? idOf(request);
      bodies.set(body, known);
      const status = known === idOf(request) ? 200 : 422;
      return new Response("", { status });
    });
    const failure = await failureOf("duplicate_by_id_alone", { target });
    expect(failure.message).toContain("the same body under another id: expected 2xx, got 422");
  });

  it("a receiver that handles an interrupted upload fails", async () => {
    const report = await runSuiteOnListener((ledger) => {
      const handle = nodeHandler(ledgerReceiver(ledger));
      return (req, res) => {
        req.on("close", () => {
          if (!req.complete) void ledger.record({ id: String(req.headers["x-webhook-id"]) });
        });
        handle(req, res);
      };
    });
    expect(idsOf(report, "failed")).toEqual(["broken_upload"]);
  });
});

describe("receivers with special connections", () => {
  it("a receiver that closes the connection instead of answering a forgery passes", async () => {
    const report = await runSuiteOnListener((ledger) => {
      const handle = nodeHandler(ledgerReceiver(ledger));
      return (req, res) => {
        if (req.method === "PUT") req.socket.destroy();
        else handle(req, res);
      };
    });
    expect(idsOf(report, "failed")).toEqual([]);
    expect(idsOf(report, "passed")).toContain("keep_alive");
  });

  it("a receiver that gets only events, over TLS and by host name, is judged", async () => {
    const ledger = createLedger();
    const handle = nodeHandler(ledgerReceiver(ledger));
    const url = await serving(https.createServer(testCertificate, handle));
    const target = url.replace("http://127.0.0.1", "https://localhost");
    const ids = ["split_characters", "invalid_header_bytes"];
    const options = { types: ["delete_my_data_event"], skipTlsVerification: true } as const;
    const report = await runSuite({ target, handled: ledger.handled, ...options }, ids);
    expect(idsOf(report, "passed")).toEqual(ids);
  });
});

describe("an option that fails", () => {
  it("an option that fails is named in the failure", async () => {
    const noError: unknown = "text";
    const handled = (): Promise<number> => Promise.reject(noError);
    const failure = await failureOf("alarm", { handled });
    expect(failure.message).toBe("the option handled failed: no reason is given");
  });

  it("an error of the option now ends the case with that error", async () => {
    const now = () => {
      throw new RangeError("no clock");
    };
    await expect(runSuite({ now }, ["alarm"])).rejects.toThrow(new RangeError("no clock"));
  });
});
