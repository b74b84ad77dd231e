import Koa from "koa";
import { koaHandler } from "identity-gateway-webhooks/koa";

export const mount = (receiver) => new Koa().use(koaHandler(receiver)).callback();
