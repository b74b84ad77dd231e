import { ConfigurationError } from "../../src/common/errors.js";
import type { WebhookRequest } from "../../src/delivery/request.js";
import type { WebhookHandlers } from "../../src/handling/handlers.js";
import { recordOf } from "../../src/records/decode.js";
import { ONLINE_DATA_EVENT_TYPES } from "../../src/records/online-data-event.js";
import { answerOf, type OutcomeAndStatus } from "../plain-receiver.js";

/**
 * What a receiver answers to a delivery.
 *
 * @experimental
 */
export interface ExpectedAnswer extends OutcomeAndStatus {
  /**
   * What it answers if none of its handlers takes this record. Absent if its handlers make no difference, as for a
   * stale delivery.
   */
  readonly withoutHandler?: OutcomeAndStatus;
}

/** A delivery, and the options of the receiver that gets it. */
interface Expected {
  readonly request: WebhookRequest & { readonly body: Uint8Array };
  readonly secrets: readonly string[];
  readonly nowMs: number;
  readonly timestampToleranceMs: number;
  readonly maxBodyBytes: number;
}

/** Asks a receiver. Undefined if the options are not those of a receiver. */
export async function expectedAnswer(expected: Expected): Promise<ExpectedAnswer | undefined> {
  const { request, nowMs, secrets, ...limits } = expected;
  const options = { secret: [...secrets], ...limits };
  try {
    const answer = await answerOf(request, nowMs, options);
    if (answer.outcome !== "handled") return answer;
    const handlers = otherHandlers(request.body);
    return { ...answer, withoutHandler: await answerOf(request, nowMs, { ...options, handlers }) };
  } catch (error) {
    if (error instanceof ConfigurationError) return undefined;
    throw error;
  }
}

/** Handlers by type, without one for the record of this body. */
function otherHandlers(body: Uint8Array): WebhookHandlers {
  const { type } = recordOf(body) as { type?: unknown };
  const [otherType = "DATA_DELETED"] = ONLINE_DATA_EVENT_TYPES.filter((one) => one !== type);
  return { delete_my_data_event: { [otherType]: () => undefined } };
}
