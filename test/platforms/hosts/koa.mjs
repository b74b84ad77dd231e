import Koa from "koa";
import bodyParser from "koa-bodyparser";
import mount from "koa-mount";
import { koaHandler } from "identity-gateway-webhooks/koa";
import { receiver } from "./receiver.mjs";

const app = new Koa();
app.use(mount("/webhooks/gateway", koaHandler(receiver)));
app.use(bodyParser());
app.listen(process.env.PORT ?? 3000);
