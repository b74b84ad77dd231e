import type { WebhookOutcome } from "../src/answer/outcome.js";
import type { WebhookRequest } from "../src/delivery/request.js";
import type { WebhookHandlers } from "../src/handling/handlers.js";
import { createWebhookReceiver } from "../src/receiver.js";

/**
 * The outcome of a delivery, and its status.
 *
 * @experimental
 */
export interface OutcomeAndStatus {
  readonly outcome: WebhookOutcome;
  readonly status: number;
}

/** Options of the receiver. By default its handlers do nothing. */
interface AnswerOptions {
  readonly secret: string | string[];
  readonly handlers?: WebhookHandlers;
  readonly timestampToleranceMs?: number;
  readonly maxBodyBytes?: number;
}

/** What a new receiver answers to its first request, at this time. */
export async function answerOf(
  request: WebhookRequest,
  nowMs: number,
  options: AnswerOptions,
): Promise<OutcomeAndStatus> {
  const handlers = { new_alarm: () => undefined, delete_my_data_event: () => undefined };
  const fixed = { now: () => nowMs, logger: false } as const;
  const receiver = createWebhookReceiver({ handlers, ...options, ...fixed });
  const { outcome, status } = await receiver.receive(request);
  return { outcome, status };
}
