import polka from "polka";
import { nodeHandler } from "identity-gateway-webhooks/node";
import { receiver } from "./receiver.mjs";

polka().post("/webhooks/gateway", nodeHandler(receiver)).listen(process.env.PORT);
