import { createServer } from "node:http";
import { createApp, createRouter, fromNodeMiddleware, toNodeListener } from "h3";
import { nodeHandler } from "identity-gateway-webhooks/node";
import { receiver } from "./receiver.mjs";

const router = createRouter();
router.use("/webhooks/gateway", fromNodeMiddleware(nodeHandler(receiver)));
createServer(toNodeListener(createApp().use(router))).listen(process.env.PORT ?? 3000);
