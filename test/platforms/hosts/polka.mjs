import polka from "polka";
import { nodeHandler } from "identity-gateway-webhooks/node";
import { receiver } from "./receiver.mjs";

polka()
  .all("/webhooks/gateway", nodeHandler(receiver))
  .listen(process.env.PORT ?? 3000);
