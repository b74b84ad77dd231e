import { fromNodeMiddleware } from "h3";
import { nodeHandler } from "identity-gateway-webhooks/node";
import { receiver } from "./receiver.mjs";

export default fromNodeMiddleware(nodeHandler(receiver));
