import { keyOf } from "../../src/signature/secrets.js";
import type { SecretKey } from "../../src/signature/signature.js";
import { createSender } from "../sending/sender.js";
import { errorText, type Sender } from "../sending/target.js";
import type { WireAnswer, WireRequest } from "../sending/wire.js";
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
  readonly #createdAt: number;
  #updatedAt: number;
  #fields: WebhookFields;
  #key: SecretKey | undefined;
  #target: Sender;

  readonly #options: WebhookOptions;

  constructor(
    readonly id: string,
    fields: WebhookFields,
    options: WebhookOptions,
  ) {
    this.#options = options;
    this.#createdAt = this.#updatedAt = options.now();
    this.#fields = fields;
    this.#key = keyIn(fields);
    this.#target = this.#connect();
  }

  get fields(): WebhookFields {
    return this.#fields;
  }

  /** The webhook's name in the twin's reports: unlike a title, an id is unique. */
  get title(): string {
    return this.id;
  }

  get type(): string {
    return this.#fields.type;
  }

  get secret(): SecretKey | undefined {
    return this.#key;
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
    const { url, skip_ssl_verification: skips } = this.#fields;
    this.#fields = fields;
    this.#key = keyIn(fields);
    this.#updatedAt = this.#options.now();
    if (url === fields.url && skips === fields.skip_ssl_verification) return;
    this.#options.retire(this.#target);
    this.#target = this.#connect();
  }

  /** The record without the secret. */
  toRecord({ boolean, date }: ApiFormat): Readonly<Record<string, unknown>> {
    const { title, url, type, is_active, skip_ssl_verification, enable_requests_history } =
      this.#fields;
    return {
      id: Number(this.id),
      title,
      url,
      type,
      has_secret: boolean(this.#key !== undefined),
      is_active: boolean(is_active),
      skip_ssl_verification: boolean(skip_ssl_verification),
      enable_requests_history: boolean(enable_requests_history),
      created_at: date(this.#createdAt),
      updated_at: date(this.#updatedAt),
    };
  }

  #connect(): Sender {
    const { url, skip_ssl_verification: skipTlsVerification } = this.#fields;
    return createSender(url, { timeoutMs: this.#options.timeoutMs, skipTlsVerification });
  }

  async #send(target: Sender, request: WireRequest): Promise<WireAnswer> {
    const at = new Date(this.#options.now());
    const deliveryId = request.headers.find(([name]) => name === "X-Webhook-Id")?.[1] ?? "";
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
