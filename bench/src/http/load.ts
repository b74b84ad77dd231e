import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import autocannon from "autocannon";
import { signedHeaders, type Body } from "../deliveries.js";
import { WrongOutcomeError } from "../rounds.js";
import { githubHeaders } from "../schemes.js";
import type { Order, Report } from "./server-process.js";
import { PATH } from "./measured-server.js";
import { SERVERS, type ServerName } from "./servers.js";

const CONNECTIONS = 32;
/** The requests at the start and at the end of a round that are not measured. */
const EDGE = 4 * CONNECTIONS;

/** One server in its own process. */
export interface RunningServer {
  readonly name: ServerName;
  /** Sends this many new deliveries. Returns the CPU microseconds of the server per request. */
  readonly load: (body: Body, requests: number) => Promise<number>;
  readonly stop: () => void;
}

/** Starts a server under the Node that runs this process. */
export async function startServer(name: ServerName): Promise<RunningServer> {
  const script = fileURLToPath(new URL("./server-process.js", import.meta.url));
  const child = fork(script, [name], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const ended = once(child, "exit").then(() => {
    throw new Error(`${name}: the server ended`);
  });
  // A waiting caller gets the rejection. After `stop` no one waits.
  ended.catch(() => undefined);

  async function next<Kind extends Report["report"]>(
    kind: Kind,
  ): Promise<Extract<Report, { report: Kind }>> {
    const [message] = (await Promise.race([once(child, "message"), ended])) as [Report];
    if (message.report !== kind) throw new Error(`the server said ${message.report}, not ${kind}`);
    return message as Extract<Report, { report: Kind }>;
  }

  const first = await next("listening");
  const url = `http://127.0.0.1:${first.port}${PATH}`;

  return {
    name,
    async load(body, requests) {
      order(child, { order: "begin", from: EDGE, to: requests - EDGE });
      await next("ready");
      const counted = await send(url, body, requests, SERVERS[name].sender);
      order(child, { order: "report" });
      const { handled, cpuUs } = await next("round");
      if (counted.good !== requests || counted.other > 0 || handled !== requests) {
        throw new WrongOutcomeError(
          `${name}: of ${requests} deliveries ${counted.good} were answered 200, ` +
            `${counted.other} otherwise or not at all, and ${handled} were handled`,
        );
      }
      return cpuUs / (requests - 2 * EDGE);
    },
    stop: () => {
      child.disconnect();
    },
  };
}

function order(child: ChildProcess, message: Order): void {
  child.send(message);
}

/** Every request is a new delivery, signed before the round, so that none is a duplicate. */
async function send(
  url: string,
  body: Body,
  requests: number,
  sender: "gateway" | "github",
): Promise<{ good: number; other: number }> {
  const sign = sender === "gateway" ? () => signedHeaders(body) : () => githubHeaders(body);
  const pool = Array.from({ length: requests }, sign);
  const result = await autocannon({
    url,
    connections: CONNECTIONS,
    amount: requests,
    // Without a bound it would send to a crashed server forever.
    bailout: 1,
    // How often it checks whether the last request was answered, in milliseconds. The default is once a second.
    sampleInt: 5,
    requests: [
      {
        method: "POST",
        body: body.bytes,
        setupRequest: (request) => {
          const headers = pool.pop();
          if (headers === undefined) throw new Error("more requests than deliveries");
          request.headers = {
            "user-agent": "identity-gateway",
            accept: "application/json",
            "content-type": "application/json",
            ...headers,
          };
          return request;
        },
      },
    ],
  });
  return {
    good: result.statusCodeStats?.["200"]?.count ?? 0,
    other: result.non2xx + result.errors + result.timeouts + result.resets,
  };
}
