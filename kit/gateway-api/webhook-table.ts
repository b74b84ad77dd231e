import { createSender } from "../sending/sender.js";
import type { Sender } from "../sending/target.js";
import type { ActiveWebhook } from "../twin/twin-webhook.js";
import { ApiError } from "./api-format.js";
import type { ApiSettings, StoredAttempt } from "./api-options.js";
import { RegisteredWebhook, type SentAttempt } from "./registered-webhook.js";
import { invalidFields, readWebhookFields, type WebhookFields } from "./webhook-fields.js";

/** The oldest attempts are dropped beyond this number. */
const MAX_ATTEMPTS = 100_000;

/** The gateway's table of webhooks, and the history of their attempts. */
export class WebhookTable {
  readonly #settings: ApiSettings;
  readonly #byId = new Map<string, RegisteredWebhook>();
  readonly #attempts = new Map<string, StoredAttempt[]>();
  readonly #retired: Sender[] = [];
  /** The active webhooks. The twin reads this list at each event. */
  readonly active: ActiveWebhook[];
  #lastId = 0;
  #lastAttempt = 0;

  constructor(settings: ApiSettings, active: ActiveWebhook[]) {
    this.#settings = settings;
    this.active = active;
  }

  list(): readonly RegisteredWebhook[] {
    return [...this.#byId.values()];
  }

  /** Throws `ApiError` if there is none. */
  get(id: string): RegisteredWebhook {
    const webhook = this.#byId.get(id);
    if (webhook === undefined) throw new ApiError(404, "NOT_FOUND", "The webhook was not found.");
    return webhook;
  }

  /** Rejects with an `ApiError` for invalid fields, a URL that is taken, and one that does not answer. */
  async create(body: Readonly<Record<string, unknown>>): Promise<RegisteredWebhook> {
    const fields = readWebhookFields(body);
    this.#checkUnique(fields);
    await this.#checkReachable(fields);
    this.#checkUnique(fields);
    const { clock, timeoutMs } = this.#settings.twin;
    const id = String(++this.#lastId);
    const webhook = new RegisteredWebhook(id, fields, {
      now: clock.now,
      timeoutMs,
      onSent: (sender, attempt) => this.#store(sender, attempt),
      retire: (sender) => this.#retired.push(sender),
    });
    this.#byId.set(id, webhook);
    this.#refresh();
    return webhook;
  }

  /**
   * A PUT. Fields that are left out keep their value; with `putDropsSecret` all but the secret, with
   * `putReplaces` none.
   */
  async update(id: string, body: Readonly<Record<string, unknown>>): Promise<RegisteredWebhook> {
    const webhook = this.get(id);
    const { secret, ...known } = webhook.fields;
    const { putReplaces, putDropsSecret } = this.#settings;
    const kept = putDropsSecret ? known : { ...known, secret };
    const fields = readWebhookFields(putReplaces ? body : { ...kept, ...body });
    this.#checkUnique(fields, id);
    if (fields.url !== known.url) await this.#checkReachable(fields);
    webhook.update(fields);
    this.#refresh();
    return webhook;
  }

  delete(id: string): void {
    this.#retired.push(this.get(id).sender);
    this.#byId.delete(id);
    this.#attempts.delete(id);
    this.#refresh();
  }

  /** The stored attempts of a webhook, the oldest first. Throws `ApiError` if its history is off. */
  attempts(id: string): readonly StoredAttempt[] {
    const { enable_requests_history: isOn } = this.get(id).fields;
    if (isOn && this.#settings.history) return this.#attempts.get(id) ?? [];
    throw new ApiError(422, "VALIDATION_ERROR", "The history of this webhook is disabled.", [
      { field: "enable_requests_history", issue: "must be true" },
    ]);
  }

  /** Closes the connections that the twin does not know. */
  close(): void {
    for (const sender of this.#retired) sender.close();
    for (const { sender } of this.#byId.values()) sender.close();
  }

  #store(webhook: RegisteredWebhook, attempt: SentAttempt): void {
    if (!this.#settings.history || !webhook.fields.enable_requests_history) return;
    const stored = this.#attempts.get(webhook.id) ?? [];
    stored.push({ id: ++this.#lastAttempt, webhookId: webhook.id, ...attempt });
    if (stored.length > MAX_ATTEMPTS) stored.shift();
    this.#attempts.set(webhook.id, stored);
  }

  #refresh(): void {
    const active = this.list().filter(({ fields }) => fields.is_active);
    this.active.splice(0, Infinity, ...active);
  }

  #checkUnique({ url, type }: WebhookFields, exceptId?: string): void {
    const isTaken = this.list().some(
      ({ id, fields }) => id !== exceptId && fields.url === url && fields.type === type,
    );
    if (!isTaken) return;
    const details = [{ field: "url", issue: "has already been taken for this type" }];
    if (this.#settings.takenUrlStatus === 422) throw invalidFields(details);
    throw new ApiError(409, "CONFLICT", "The webhook exists.", details);
  }

  async #checkReachable({ url, skip_ssl_verification: skips }: WebhookFields): Promise<void> {
    const { urlCheck } = this.#settings;
    if (urlCheck === false) return;
    const sender = createSender(url, { timeoutMs: 10_000, skipTlsVerification: skips });
    try {
      const { status } = await sender.send({ method: urlCheck, headers: [] });
      if (status >= 200 && status <= 299) return;
    } catch {
      // No answer: refused below.
    } finally {
      sender.close();
    }
    throw invalidFields([{ field: "url", issue: "is not reachable" }]);
  }
}
