import http from "node:http";
import { inject } from "vitest";
import { lambdaHandler } from "../../../adapters/aws-lambda/index.js";
import type { WireRequest } from "../../../kit/sending/wire.js";
import type { WebhookReceiver } from "../../../src/index.js";
import { EVENT_FORMS, type EventForm, type FrontAnswer } from "../lambda/event-forms.js";
import type { AdapterTarget } from "./adapter-exchange.js";
import { newestServers } from "./http-servers.js";
import { ownFrameworkListener } from "./own-adapter.js";
import { fetchOver, overHttp } from "./target-kinds.js";

/** A function whose time-out is near, since handlers that hang are answered only there. Milliseconds. */
const REMAINING_MS = 1_000;
const MARGIN_MS = 400;

/** Calls a function as Lambda does, without Lambda. */
function callFunction(receiver: WebhookReceiver, form: EventForm) {
  const handle = lambdaHandler(receiver, { marginMs: MARGIN_MS });
  return async (request: WireRequest): Promise<FrontAnswer> => {
    const endsAt = performance.now() + REMAINING_MS;
    const context = { getRemainingTimeInMillis: () => endsAt - performance.now() };
    return form.answerOf(await handle(form.eventOf(request), context));
  };
}

/** The Lambda adapter behind each of its five fronts. */
const lambdaTargets: readonly AdapterTarget[] = EVENT_FORMS.map((form) => ({
  name: `AWS Lambda, ${form.name}`,
  hidesRepeats: form.hidesRepeats === true,
  open(receiver) {
    const send = callFunction(receiver, form);
    return Promise.resolve({ target: fetchOver({ send }), send, close: () => Promise.resolve() });
  },
}));

/** Each adapter once, over HTTP where it has a server. */
const newestTargets: readonly AdapterTarget[] = [
  ...newestServers.map(([name, createServer]) => overHttp(name, createServer)),
  overHttp("an adapter of one's own", (receiver) =>
    http.createServer(ownFrameworkListener(receiver)),
  ),
  ...lambdaTargets,
];

/** What the adapters are tested on: the newest servers in `npm test`, all others in `npm run test:all`. */
export const adapterTargets: readonly AdapterTarget[] =
  inject("servers") === "newest"
    ? newestTargets
    : (await import("./other-targets.js")).otherTargets;
