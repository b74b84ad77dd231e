import { fetchHandler } from "identity-gateway-webhooks/fetch";
import { receiver } from "./receiver.mjs";

export default fetchHandler(receiver);
export const config = { path: "/webhooks/gateway" };
