// The packages of this folder, for the tests elsewhere: Node finds them only from here.
export { default as Koa2 } from "koa2";
export { default as Koa3 } from "koa";
export { default as oldBodyParser } from "koa-bodyparser";
export { default as mount } from "koa-mount";
export { default as compress } from "koa-compress";
export { bodyParser } from "@koa/bodyparser";
export { Router } from "@koa/router";
export { koaBody } from "koa-body";
