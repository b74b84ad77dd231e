import { app } from "@azure/functions";
import { fetchHandler } from "identity-gateway-webhooks/fetch";
import { receiver } from "./receiver.mjs";

const handle = fetchHandler(receiver);
app.http("gatewayWebhook", {
  methods: ["GET", "HEAD", "OPTIONS", "POST"],
  handler: (request) => handle(request),
});
