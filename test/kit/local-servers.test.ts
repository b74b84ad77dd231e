import { once } from "node:events";
import http from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { createGatewayApi } from "../../kit/gateway-api/gateway-api.js";
import { startListener } from "../../kit/listener/start-listener.js";
import { sampleAlarm } from "../../kit/samples/sample-alarm.js";
import { signedDelivery } from "../../kit/signed-delivery.js";
import { TEST_SECRET as secret } from "../support/deliveries.js";

interface Target {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  readonly close: () => Promise<void>;
}

/** Every local server of the package, with a request that it takes. */
const SERVERS = {
  async deliveries(): Promise<Target> {
    const { url, close } = await startListener({ secret });
    const { headers, body } = await signedDelivery({ alarm: sampleAlarm(), secret });
    return { url, headers: { ...headers, "content-type": "application/json" }, body, close };
  },
  async api(): Promise<Target> {
    const { api, close } = await startListener({ secret });
    const authorization = `Bearer ${api.token}`;
    const headers = { authorization, "content-type": "application/json" };
    return { url: `${api.url}send`, headers, body: '{"sample":"iban_hacked"}', close };
  },
  async gateway(): Promise<Target> {
    const { listen, close } = createGatewayApi();
    const { url } = await listen({ allowHosts: ["gateway"] });
    const headers = { "content-type": "application/json; charset=utf-8" };
    return { url: `${url}/api/v1/crm/auth/login`, headers, body: "{}", close };
  },
};

async function start(name: keyof typeof SERVERS): Promise<Target> {
  const target = await SERVERS[name]();
  onTestFinished(target.close);
  return target;
}

/** `fetch` sets Host and Origin itself. */
async function post({ url, headers, body }: Target, more: Readonly<Record<string, string>> = {}) {
  const length = { "content-length": String(Buffer.byteLength(body)) };
  const options = { method: "POST", headers: { ...headers, ...length, ...more }, agent: false };
  const req = http.request(url, options);
  req.end(body);
  const [{ statusCode }] = (await once(req, "response")) as [http.IncomingMessage];
  return statusCode;
}

const EVIL = "evil.example";

test.each([
  ["a program", {}, 200, 200, 200],
  ["a page of another site", { origin: `https://${EVIL}` }, 409, 403, 403],
  ["a page without an origin", { origin: "null" }, 409, 403, 403],
  ["a page whose name leads here", { host: EVIL, origin: `http://${EVIL}` }, 409, 403, 403],
  // A tunnel keeps the public name of the deliveries.
  ["another name", { host: EVIL }, 200, 403, 403],
  ["a container", { host: "gateway:4010" }, 200, 403, 200],
  ["a form", { "content-type": "application/x-www-form-urlencoded" }, 200, 415, 415],
])("%s gets the answer of its place from each local server", async (_who, more, ...expected) => {
  const names = ["deliveries", "api", "gateway"] as const;
  const statuses = names.map(async (name) => post(await start(name), more));
  expect(await Promise.all(statuses)).toEqual(expected);
});

test.each(["deliveries", "api", "gateway"] as const)(
  "a request to %s that is cut off, or grows too long, ends nothing else",
  async (name) => {
    const target = await start(name);
    const { url, headers } = target;
    const cut = http.request(url, { method: "POST", headers: { ...headers, "content-length": 9 } });
    cut.on("error", () => undefined).write("{");
    await once(cut, "socket");
    // The server reads the first request before it answers the second.
    expect((await fetch(url, { ...target, method: "POST" })).status).toBe(200);
    cut.destroy();
    const long = http.request(url, { method: "POST", headers, agent: false });
    const ended = new Promise((resolve) => long.on("error", resolve).on("response", resolve));
    long.end(Buffer.alloc(4_194_305, " "));
    await ended;
    expect(await post(target)).toBe(200);
    await target.close();
  },
);
