import { createServer, type Server } from "node:http";
import { Webhooks, createNodeMiddleware } from "@octokit/webhooks";
import { SECRET } from "../../deliveries.js";
import { PATH, type Handle } from "../measured-server.js";

/** Octokit's own middleware on plain Node. */
export function octokitServer(handle: Handle): Server {
  const webhooks = new Webhooks({ secret: SECRET });
  webhooks.on("ping", async ({ payload }) => handle(payload));
  const middleware = createNodeMiddleware(webhooks, { path: PATH });
  return createServer((req, res) => {
    void middleware(req, res);
  });
}
