import functions from "@google-cloud/functions-framework";
import { nodeHandler } from "identity-gateway-webhooks/node";
import { receiver } from "./receiver.mjs";

functions.http("gatewayWebhook", nodeHandler(receiver));
