import { nodeHandler } from "identity-gateway-webhooks/node";
import { receiver } from "./receiver.mjs";

export const config = { api: { bodyParser: false } };

export default nodeHandler(receiver);
