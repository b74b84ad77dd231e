import express from "express";
import { expressHandler } from "identity-gateway-webhooks/express";
import { receiver } from "./receiver.mjs";

const app = express();
app.all("/webhooks/gateway", expressHandler(receiver));
app.use(express.json());
app.listen(process.env.PORT ?? 3000);
