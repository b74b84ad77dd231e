import { createServer, type OutgoingHttpHeaders } from "node:http";
import { expect, it } from "vitest";
import { nodeHandler } from "../../adapters/node.js";
import { createBodyReceiver } from "../support/adapters/body-receiver.js";
import { http1Client } from "../support/adapters/http-clients.js";
import { oddDelivery } from "../support/fuzz/odd-delivery.js";
import { listen } from "../support/servers.js";

it("a header that a middleware writes into one response is in no other", async () => {
  const handler = nodeHandler(createBodyReceiver().receiver);
  let count = 0;
  const server = await listen(
    createServer((req, res) => {
      const writeHead = res.writeHead.bind(res) as (
        status: number,
        headers: OutgoingHttpHeaders,
      ) => typeof res;
      // As middlewares do that set a cookie just before the answer.
      Object.assign(res, {
        writeHead: (status: number, headers: OutgoingHttpHeaders) => {
          if (count++ === 0) headers["set-cookie"] = "session=of-the-first";
          return writeHead(status, headers);
        },
      });
      handler(req, res);
    }),
  );
  const client = http1Client(server.port);
  const first = await client.send(await oddDelivery());
  const second = await client.send(await oddDelivery());
  const third = await client.send(await oddDelivery());
  expect(first.headers["set-cookie"]).toBe("session=of-the-first");
  expect([first.body, second.body]).toEqual(['{"outcome":"handled"}', '{"outcome":"duplicate"}']);
  expect(third.body).toBe(second.body);
  expect(second.headers).not.toHaveProperty("set-cookie");
  expect(third.headers).not.toHaveProperty("set-cookie");
  client.close();
  await server.close();
});
