import { WEBHOOK_TYPES, isWebhookType, type WebhookType } from "../../src/delivery/headers.js";
import type { ErrorDetail } from "../../src/management/management-error.js";
import { secretFault } from "../../src/signature/secrets.js";
import { ApiError } from "./api-format.js";

/** The fields that a caller sets (GATEWAY.md, "Webhook"). */
export interface WebhookFields {
  readonly title: string;
  readonly url: string;
  readonly type: WebhookType;
  readonly secret: string | undefined;
  readonly is_active: boolean;
  readonly skip_ssl_verification: boolean;
  readonly enable_requests_history: boolean;
}

const BOOLEANS = ["is_active", "skip_ssl_verification", "enable_requests_history"] as const;

/** The fields of a POST or a PUT. Throws `ApiError` with all that is wrong. */
export function readWebhookFields(body: Readonly<Record<string, unknown>>): WebhookFields {
  const { title, url, type, secret } = body;
  const isUrl = typeof url === "string" && URL.canParse(url) && /^https?:/i.test(url);
  const hasSecret = secret !== undefined && secret !== null && secret !== "";
  const fault = hasSecret ? secretFault(secret) : undefined;
  const details: readonly (ErrorDetail | undefined)[] = [
    typeof title === "string" && title !== ""
      ? undefined
      : { field: "title", issue: "is required" },
    isUrl ? undefined : { field: "url", issue: "must be a URL" },
    typeof type === "string" && isWebhookType(type)
      ? undefined
      : { field: "type", issue: `must be one of ${WEBHOOK_TYPES.join(", ")}` },
    fault === undefined ? undefined : { field: "secret", issue: fault },
    ...BOOLEANS.map((field) =>
      isBoolean(body[field]) ? undefined : { field, issue: "must be a boolean" },
    ),
  ];
  const found = details.filter((detail) => detail !== undefined);
  if (found.length > 0) throw invalidFields(found);
  const [isActive, skips, keeps] = BOOLEANS.map((field) => Boolean(Number(body[field])));
  return {
    title: title as string,
    url: url as string,
    type: type as WebhookType,
    secret: hasSecret ? (secret as string) : undefined,
    is_active: isActive === true,
    skip_ssl_verification: skips === true,
    enable_requests_history: keeps === true,
  };
}

/** The error of fields that the gateway refuses. */
export function invalidFields(details: readonly ErrorDetail[]): ApiError {
  return new ApiError(422, "VALIDATION_ERROR", "The given data was invalid.", details);
}

function isBoolean(value: unknown): boolean {
  return [true, false, 0, 1, "0", "1"].includes(value as boolean);
}
