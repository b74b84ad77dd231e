import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { listenHttp } from "../servers.js";
import { createClient } from "redis";

/** What happens to one request. The promise of `hold` is awaited between the command and its answer. */
type HttpFault =
  | "lose the answer"
  | { readonly status: number; readonly body: string }
  | { readonly hold: Promise<void> };

/** The REST protocol of Upstash in front of a real Redis. */
export type RedisHttpFront = Awaited<ReturnType<typeof startRedisHttpFront>>;

type Reply = { readonly result: unknown } | { readonly error: string };

const TOKEN = "test-token";

/** Starts the front on a free port. `serverUrl`: that of Redis. */
export async function startRedisHttpFront(serverUrl: string) {
  const redis = createClient({ url: serverUrl, RESP: 2 });
  redis.on("error", () => undefined);
  await redis.connect();

  const run = async (command: string[]): Promise<Reply> => {
    try {
      return { result: await redis.sendCommand(command) };
    } catch (error) {
      return { error: (error as Error).message };
    }
  };

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const reply = (status: number, body: string) =>
      response.writeHead(status, { "content-type": "application/json" }).end(body);
    if (request.headers.authorization !== `Bearer ${TOKEN}`) {
      return void reply(401, JSON.stringify({ error: "WRONGPASS invalid or missing auth token" }));
    }
    const path = request.url ?? "/";
    const given = JSON.parse((await buffer(request)).toString()) as unknown[];
    const isPipeline = path === "/pipeline";
    const commands = (isPipeline ? given : [given]).map((one) => (one as unknown[]).map(String));
    front.requests.push({ path, commands });
    const fault = front.faultOf();
    if (fault !== undefined && typeof fault === "object" && "status" in fault) {
      return void reply(fault.status, fault.body);
    }
    const replies: Reply[] = [];
    for (const command of commands) replies.push(await run(command));
    if (fault === "lose the answer") return void request.socket.destroy();
    await fault?.hold;
    const encode =
      request.headers["upstash-encoding"] === "base64" ? base64 : (text: unknown) => text;
    const shown = replies.map((one) => ("result" in one ? { result: encode(one.result) } : one));
    const failed = !isPipeline && shown.some((one) => "error" in one);
    reply(failed ? 400 : 200, JSON.stringify(isPipeline ? shown : shown[0]));
  };

  const server = createServer((request, response) => {
    void answer(request, response).catch(() => response.destroy());
  });
  const { url, close } = await listenHttp(server);
  const front = {
    url,
    token: TOKEN,
    /** The paths of the requests, each with its commands. */
    requests: [] as { path: string; commands: string[][] }[],
    /** Called with each request. Default: no fault. */
    faultOf: (): HttpFault | undefined => undefined,
    close: async () => {
      await close();
      redis.destroy();
    },
  };
  return front;
}

/** Strings in base64, also in lists; numbers and null as they are. */
function base64(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(base64);
  return typeof value === "string" && value !== "OK"
    ? Buffer.from(value).toString("base64")
    : value;
}
