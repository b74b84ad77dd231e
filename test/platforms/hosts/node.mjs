import { createServer } from "node:http";
import { nodeHandler } from "identity-gateway-webhooks/node";
import { receiver } from "./receiver.mjs";

createServer(nodeHandler(receiver)).listen(process.env.PORT ?? 3000);
