import { fetchHandler } from "identity-gateway-webhooks/fetch";
import { receiver } from "./receiver.mjs";

export const POST = fetchHandler(receiver);
export const GET = POST;
