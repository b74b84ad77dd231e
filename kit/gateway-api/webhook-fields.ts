import { WEBHOOK_TYPES } from "../../src/common/gateway-facts.js";
import { isWebhookType, type WebhookType } from "../../src/delivery/headers.js";
import type { ErrorDetail } from "../../src/management/management-error.js";
import { secretFault } from "../../src/signature/secrets.js";
import { ApiError } from "./api-format.js";

/** The fields that a caller sets. */
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
  const isType = typeof type === "string" && isWebhookType(type);
  const checks: readonly (readonly [field: string, holds: boolean, issue: string])[] = [
    ["title", typeof title === "string" && title !== "", "is required"],
    ["url", isUrl, "must be a URL"],
    ["type", isType, `must be one of ${WEBHOOK_TYPES.join(", ")}`],
    ["secret", fault === undefined, String(fault)],
    ...BOOLEANS.map((field) => [field, isBoolean(body[field]), "must be a boolean"] as const),
  ];
  const broken = checks.filter(([, holds]) => !holds);
  if (broken.length > 0) throw invalidFields(broken.map(([field, , issue]) => ({ field, issue })));
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
