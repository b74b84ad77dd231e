import { lambdaHandler } from "../../../adapters/aws-lambda/index.js";
import type { WebhookReceiver } from "../../../src/index.js";
import type { WireRequest } from "../../../kit/sending/wire.js";
import { EVENT_FORMS, type EventForm, type FrontAnswer } from "../lambda/event-forms.js";
import type { AdapterTarget } from "./adapter-exchange.js";

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
export const lambdaTargets: readonly AdapterTarget[] = EVENT_FORMS.map((form) => ({
  name: `AWS Lambda, ${form.name}`,
  hidesRepeats: form.hidesRepeats === true,
  open(receiver) {
    const send = callFunction(receiver, form);
    return Promise.resolve({
      target: async (request: Request) => {
        const body =
          request.body === null ? undefined : new Uint8Array(await request.arrayBuffer());
        const answer = await send({
          method: request.method,
          headers: [...request.headers],
          body,
        });
        return new Response(answer.body, answer);
      },
      send,
      close: () => Promise.resolve(),
    });
  },
}));
