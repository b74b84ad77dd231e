import { fetchHandler } from "identity-gateway-webhooks/fetch";
import { receiver } from "./receiver.mjs";

const handle = fetchHandler(receiver);
export const POST = ({ request }) => handle(request);
export const GET = POST;
