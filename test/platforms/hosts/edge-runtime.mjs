import { fetchHandler } from "identity-gateway-webhooks/fetch";
import { receiver } from "./receiver.mjs";

export const config = { runtime: "edge" };
export default fetchHandler(receiver);
