import { HEADERS } from "../../src/delivery/headers.js";
import { keyOf, type SecretKey } from "../../src/signature/secrets.js";
import { createSender } from "../sending/sender.js";
import { errorText, type Sender } from "../sending/target.js";
import { headerOf, type WireAnswer, type WireRequest } from "../sending/wire.js";
import type { ActiveWebhook } from "../twin/twin-webhook.js";
import type { ApiFormat } from "./api-format.js";
import type { StoredAttempt } from "./api-options.js";
import type { WebhookFields } from "./webhook-fields.js";

/** One exchange with a receiver, as the history stores it. */
export type SentAttempt = Omit<StoredAttempt, "id" | "webhookId">;

interface WebhookOptions {
  readonly now: () => number;
  readonly timeoutMs: number;
  /** Called with each attempt. */
  readonly onSent: (webhook: RegisteredWebhook, attempt: SentAttempt) => void;
  /** Takes the sender of an old URL. Requests under way may still use it. */
  readonly retire: (sender: Sender) => void;
}

/**
 * A webhook in the gateway's table. The twin reads its secret and its sender at each attempt, so a change applies to
 * the next attempt of deliveries under way.
 */
export class RegisteredWebhook implements ActiveWebhook {
  secret: SecretKey | undefined;
  readonly #createdAt: number;
  #updatedAt: number;
  #target: Sender;
  readonly #options: WebhookOptions;

  constructor(
    readonly id: string,
    public fields: WebhookFields,
    options: WebhookOptions,
  ) {
    this.#options = options;
    this.#createdAt = this.#updatedAt = options.now();
    this.secret = keyIn(fields);
    this.#target = this.#connect();
  }

  /** The webhook's name in the twin's reports: unlike a title, an id is unique. */
  get title(): string {
    return this.id;
  }

  get type(): string {
    return this.fields.type;
  }

  /** Sends to the current URL, and tells of each attempt. */
  get sender(): Sender {
    const target = this.#target;
    return {
      send: (request) => this.#send(target, request),
      close: () => target.close(),
    };
  }

  update(fields: WebhookFields): void {
    const { url, skip_ssl_verification: skips } = this.fields;
    this.fields = fields;
    this.secret = keyIn(fields);
    this.#updatedAt = this.#options.now();
    if (url === fields.url && skips === fields.skip_ssl_verification) return;
    this.#options.retire(this.#target);
    this.#target = this.#connect();
  }

  /** The record without the secret. */
  toRecord({ boolean, date }: ApiFormat): Readonly<Record<string, unknown>> {
    const { title, url, type, is_active, skip_ssl_verification, enable_requests_history } =
      this.fields;
    return {
      id: Number(this.id),
      title,
      url,
      type,
      has_secret: boolean(this.secret !== undefined),
      is_active: boolean(is_active),
      skip_ssl_verification: boolean(skip_ssl_verification),
      enable_requests_history: boolean(enable_requests_history),
      created_at: date(this.#createdAt),
      updated_at: date(this.#updatedAt),
    };
  }

  #connect(): Sender {
    const { url, skip_ssl_verification: skipTlsVerification } = this.fields;
    return createSender(url, { timeoutMs: this.#options.timeoutMs, skipTlsVerification });
  }

  async #send(target: Sender, request: WireRequest): Promise<WireAnswer> {
    const at = new Date(this.#options.now());
    const deliveryId = headerOf(request.headers, HEADERS.id.name) ?? "";
    const body = new TextDecoder().decode(request.body);
    const note = (status: number | undefined, error: string | undefined): void =>
      this.#options.onSent(this, { deliveryId, at, status, error, body });
    try {
      const answer = await target.send(request);
      note(answer.status, undefined);
      return answer;
    } catch (error) {
      note(undefined, errorText(error));
      throw error;
    }
  }
}

function keyIn({ secret }: WebhookFields): SecretKey | undefined {
  return secret === undefined ? undefined : keyOf(secret);
}
