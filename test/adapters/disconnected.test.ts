import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { fetchHandler } from "../../adapters/fetch.js";
import { honoHandler } from "../../adapters/hono.js";
import type { WebhookRequest } from "../../src/index.js";
import { requestOf } from "../support/adapters/target-kinds.js";
import { signed } from "../support/adapters/adapter-exchange.js";
import { observedAlarmReceiver } from "../support/alarm-receiver.js";
import { deferred } from "../support/deferred.js";
import { delivery } from "../support/deliveries.js";
import { http1Client, http2Client } from "../support/adapters/http-clients.js";
import { http2Servers, httpServers } from "../support/adapters/http-servers.js";
import { throwing } from "../support/faults.js";
import { eventually, type CreateServer } from "../support/listening-receiver.js";
import { watchedReceivers } from "../support/adapters/watched-receiver.js";

const open = watchedReceivers();

/** Keeps the requests that the adapter makes. */
function spied(create: CreateServer) {
  const seen: WebhookRequest[] = [];
  const spying: CreateServer = (receiver, options) => {
    const receive: typeof receiver.receive = (request) => {
      seen.push(request);
      return receiver.receive(request);
    };
    return create({ ...receiver, receive }, options);
  };
  return { seen, spying };
}

const all = [
  ...httpServers.map(([name, create]) => [name, "HTTP/1", create, http1Client] as const),
  ...http2Servers.map(([name, create]) => [name, "HTTP/2", create, http2Client] as const),
];

describe.each(all)("%s over %s", (_name, _version, create, connect) => {
  it("reports a sender that hangs up while the handler runs as disconnected", async () => {
    const work = deferred();
    const { seen, spying } = spied(create);
    const server = await open(spying, { handler: () => work.promise });
    const client = connect(server.port);
    // Either the client's error, or an end without a status.
    const answer = client.send(await signed()).then(
      ({ status }) => status,
      () => 0,
    );
    await eventually(() => server.runs.length).toBe(1);
    expect(seen[0]?.isDisconnected?.()).toBe(false);
    client.close();
    expect(await answer).toBe(0);
    await eventually(() => seen[0]?.isDisconnected?.()).toBe(true);
    work.resolve();
    await eventually(() => server.reports.length).toBe(1);
    expect(server.reports).toMatchObject([{ outcome: "handled", disconnected: true }]);
    expect(server.lines).toEqual([]);
  });

  it("reports a sender that waits for its answer as connected", async () => {
    const server = await open(create);
    const client = open.closing(connect(server.port));
    for (const id of ["first", "second"]) {
      expect(await client.send(await signed({ id }))).toMatchObject({ status: 200 });
    }
    expect(server.reports.map(({ disconnected }) => disconnected)).toEqual([undefined, undefined]);
  });
});

describe("without a server", () => {
  const abortion = new AbortController();
  abortion.abort();

  it.each([
    ["fetch", fetchHandler],
    [
      "hono",
      (receiver: Parameters<typeof honoHandler>[0]) => (request: Request) =>
        new Hono().all("/", honoHandler(receiver)).request(request),
    ],
  ] as const)("%s asks the signal of the request", async (_name, mount) => {
    const { receiver, reports } = observedAlarmReceiver(() => undefined);
    const handle = mount(receiver);
    await handle(requestOf(await signed()));
    await handle(new Request(requestOf(await signed()), { signal: abortion.signal }));
    expect(reports.map(({ disconnected }) => disconnected)).toEqual([undefined, true]);
  });

  it("receive takes an isDisconnected that throws for a sender that is there", async () => {
    const { receiver, reports } = observedAlarmReceiver(() => undefined);
    const isDisconnected = throwing(new Error("gone with its context"));
    const answer = await receiver.receive({ ...(await delivery()), isDisconnected });
    expect(answer).toMatchObject({ status: 200 });
    expect(reports[0]).not.toHaveProperty("disconnected");
  });
});
