// By hand: the types of the parsers change those of `node:http`.
import type Koa from "koa";

/** An app, for the parts that both versions have. */
export type App = Koa;

type MakeMiddleware = (options?: Readonly<Record<string, unknown>>) => Koa.Middleware;

/** The parts that the tests use have the types of Koa 3. */
export const Koa2: typeof Koa;
export const Koa3: typeof Koa;
export const oldBodyParser: MakeMiddleware;
export const bodyParser: MakeMiddleware;
export const koaBody: MakeMiddleware;
export const compress: MakeMiddleware;
export function mount(path: string, inner: object): Koa.Middleware;
export class Router {
  all(path: string, ...middlewares: Koa.Middleware[]): this;
  routes(): Koa.Middleware;
  allowedMethods(): Koa.Middleware;
}
