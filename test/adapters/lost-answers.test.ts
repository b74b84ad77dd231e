import http, { type RequestListener } from "node:http";
import { describe, expect, it } from "vitest";
import { nodeHandler } from "../../adapters/node.js";
import { signed } from "../support/adapters/adapter-exchange.js";
import { deferred } from "../support/deferred.js";
import { throwing } from "../support/faults.js";
import { eventually, type CreateServer } from "../support/listening-receiver.js";
import { headOf } from "../support/raw-connection.js";
import { outcomesOf, watchedReceivers } from "../support/adapters/watched-receiver.js";

const open = watchedReceivers();

/** The Node handler behind something that does `before` to each exchange. */
const behind =
  (before: (...exchange: Parameters<RequestListener>) => void): CreateServer =>
  (receiver, options) => {
    const handle = nodeHandler(receiver, options);
    return http.createServer((req, res) => {
      before(req, res);
      handle(req, res);
    });
  };

describe("an answer that does not go out", () => {
  it("is an error line once a minute, beside the report that says handled", async () => {
    const failure = new Error("a wrapper of the response");
    const create = behind((_req, res) => {
      res.writeHead = throwing(failure);
    });
    const server = await open(create);
    for (const id of ["first", "second"]) {
      await expect(server.send(await signed({ id }))).rejects.toThrow("socket hang up");
    }
    expect(outcomesOf(server)).toEqual(["handled", "handled"]);
    expect(server.lines).toHaveLength(1);
    const [line] = server.lines;
    expect(line?.level).toBe("error");
    expect(line?.message).toContain("answer_lost: handled did not reach the sender");
    expect(line?.message).toContain("writeHead");
    expect(line?.details).toEqual({ outcome: "handled", status: 200, err: failure });
  });

  it("is an error line although the line of its outcome came just before", async () => {
    const create = behind((_req, res) => {
      res.writeHead = throwing(new Error("a wrapper of the response"));
    });
    const server = await open(create);
    const forged = await signed({ secret: "whsec_of_a_stranger" });
    await expect(server.send(forged)).rejects.toThrow("socket hang up");
    expect(server.lines.map(({ message }) => message)).toEqual([
      expect.stringContaining("signature_mismatch: "),
      expect.stringContaining("answer_lost: signature_mismatch did not reach the sender"),
    ]);
  });

  it("is an error line when other code has begun an answer, and may finish it", async () => {
    const create = behind((_req, res) => {
      res.writeHead(503, { "content-length": 4 }).write("bu");
    });
    const server = await open(async (receiver, options) => {
      const inner = await create(receiver, options);
      // As a time-out middleware does at its end.
      return inner.on("request", (_req, res: http.ServerResponse) => {
        void eventually(() => server.lines.length)
          .toBe(1)
          .then(() => res.end("sy"));
      });
    });
    expect(await server.send(await signed())).toMatchObject({ status: 503, body: "busy" });
    expect(server.lines[0]).toMatchObject({ level: "error" });
    expect(server.lines[0]?.message).toContain("something else has begun an answer");
  });

  it("is an error line when other code has answered, and that answer is kept", async () => {
    const work = deferred();
    const create = behind((_req, res) => {
      void work.promise.then(() => res.writeHead(503).end());
    });
    const server = await open(create, { handler: () => work.promise });
    const answer = server.send(await signed());
    await eventually(() => server.runs.length).toBe(1);
    work.resolve();
    expect(await answer).toMatchObject({ status: 503 });
    await eventually(() => server.lines.length).toBe(1);
    expect(outcomesOf(server)).toEqual(["handled"]);
  });

  it("is an error line when a wrapped receiver forgets to return its answer", async () => {
    const server = await open((receiver) => {
      const receive = (() => Promise.resolve()) as unknown as typeof receiver.receive;
      return http.createServer(nodeHandler({ ...receiver, receive }));
    });
    await expect(server.send(await signed())).rejects.toThrow("socket hang up");
    expect(server.lines).toMatchObject([{ level: "error" }]);
  });
});

it("a middleware that sets res.stream over HTTP/1 does not keep a refused upload open", async () => {
  const create = behind((req, res) => {
    Object.assign(res, { stream: { a: "middleware's" } });
    Object.assign(req, { stream: { a: "middleware's" } });
  });
  const { server, connection } = await open.connected(create, { maxBodyBytes: 100 });
  await connection.write(headOf(await signed(), "Content-Length: 2000"));
  const [answer] = await connection.answers(1);
  expect(answer).toMatchObject({ status: 409, headers: { connection: "close" } });
  await connection.write("x".repeat(2_000));
  expect(await connection.closed).toEqual({ error: undefined });
  expect(server.lines.map(({ message }) => message)).toEqual([
    expect.stringContaining("body_too_large"),
  ]);
});
