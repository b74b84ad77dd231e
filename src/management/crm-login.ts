import { invalidOption } from "../common/errors.js";
import { ownOptions } from "../common/option-checks.js";
import { gatewayTimeMs } from "../records/gateway-time.js";
import {
  checkConnection,
  CONNECTION_OPTION_NAMES,
  type ConnectionOptions,
} from "./call-settings.js";
import { GatewayCalls } from "./gateway-calls.js";
import { textsOf } from "./gateway-errors.js";
import { ManagementError } from "./management-error.js";

/**
 * Options of `crmLogin`.
 *
 * @experimental
 */
export interface CrmLoginOptions extends ConnectionOptions {
  /**
   * The body of the login, as your gateway wants it: its document does not name the fields. They are sent as they are,
   * and no error shows their values.
   */
  readonly credentials: Readonly<Record<string, unknown>>;
  /** Asks for a token of 24 hours instead of 60 minutes (`keep_logged`). Default false. */
  readonly keepLogged?: boolean | undefined;
}

/**
 * A login at the CRM surface.
 *
 * @experimental
 */
export interface CrmSession {
  /** The token. */
  readonly token: string;
  /** When it ends. Undefined if the gateway does not say. */
  readonly expiresAt: Date | undefined;
  /** How long it lasts, in seconds. Undefined if the gateway does not say. */
  readonly expiresInSeconds: number | undefined;
}

/**
 * Logs in at `POST /api/v1/crm/auth/login`. Each login makes a new token, which lasts 60 minutes, or 24 hours with
 * `keepLogged`. Rejects with a `ManagementError`.
 *
 * @example
 * const { token } = await crmLogin({ baseUrl, credentials: { email, password } });
 *
 * @throws ConfigurationError for an unknown or invalid option.
 * @experimental
 */
export async function crmLogin(options: CrmLoginOptions): Promise<CrmSession> {
  const names = ["credentials", "keepLogged", ...CONNECTION_OPTION_NAMES];
  const own = ownOptions("crmLogin", options, names);
  const { credentials, keepLogged = false } = own;
  if (typeof credentials !== "object" || (credentials as unknown) === null) {
    throw invalidOption("credentials must be the login's JSON object");
  }
  const answer = await new GatewayCalls(checkConnection(own)).call({
    method: "POST",
    path: "api/v1/crm/auth/login",
    body: { ...credentials, ...(keepLogged ? { keep_logged: true } : {}) },
    secrets: textsOf("credentials", credentials),
  });
  const { data } = Object(answer) as Record<string, unknown>;
  const { token, expires_at, expires_in } = Object(data ?? answer) as Record<string, unknown>;
  if (typeof token !== "string" || token === "") {
    throw new ManagementError("unexpected_answer", "the login was answered without a token");
  }
  return {
    token,
    expiresAt: timeOf(expires_at),
    expiresInSeconds: typeof expires_in === "number" ? expires_in : undefined,
  };
}

function timeOf(value: unknown): Date | undefined {
  const ms = typeof value === "string" ? gatewayTimeMs(value) : Number.NaN;
  return Number.isNaN(ms) ? undefined : new Date(ms);
}
