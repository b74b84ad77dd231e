import { wrongCall, type BodyOptions } from "./http/body-limits.js";
import { answerFetch, fetchMount } from "./http/fetch-answer.js";
import { honoContexts, readHonoRequest, type HonoContext } from "./http/hono-request.js";
import type { MountableReceiver } from "../src/options/webhook-receiver.js";

/** A Hono handler: `app.all(path, honoHandler(receiver))`. */
export type HonoHandler = (c: HonoContext) => Promise<Response>;

const ADVICE =
  "Mount honoHandler(receiver) before any middleware that parses the body, or let that middleware" +
  " read it by c.req.text() or c.req.arrayBuffer(), which keep it.";

/**
 * Mounts a receiver on Hono, on every runtime that Hono runs on. Work that goes on after the answer is
 * passed to `c.executionCtx.waitUntil` where the platform has it. Mount it by `all`: behind `post` Hono itself answers
 * 404 to a delivery that a redirect turned into a GET, and the gateway gives it up.
 *
 * @throws ConfigurationError if `receiver` is not a receiver, for an unknown option and for a value out
 * of bounds.
 * @example
 * ```ts
 * app.all("/webhooks/gateway", honoHandler(receiver));
 * ```
 */
export function honoHandler(receiver: MountableReceiver, options: BodyOptions = {}): HonoHandler {
  const mount = fetchMount("honoHandler", receiver, options);
  return async (c) => {
    const { req } = Object(c) as Partial<HonoContext>;
    if (typeof req?.raw !== "object") throw wrongCall("honoHandler", "Hono's context");
    return answerFetch(mount, readHonoRequest(c, mount.limits, ADVICE), () => honoContexts(c));
  };
}
