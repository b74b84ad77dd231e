import type { ErrorDetail } from "../../src/management/management-error.js";

/** The answers of the gateway in one of its two formats. */
export interface ApiFormat {
  readonly isStandard: boolean;
  readonly boolean: (value: boolean) => boolean | number | string;
  readonly date: (ms: number) => string;
}

/** An answer other than 2xx. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly details: readonly ErrorDetail[] = [],
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }
}

const STANDARD: ApiFormat = {
  isStandard: true,
  boolean: (value) => value,
  date: (ms) => `${new Date(ms).toISOString().slice(0, 19)}Z`,
};

const LEGACY: ApiFormat = {
  isStandard: false,
  boolean: (value) => (value ? 1 : 0),
  date: (ms) => new Date(ms).toISOString().slice(0, 19).replace("T", " "),
};

const LEGACY_STRINGS: ApiFormat = { ...LEGACY, boolean: (value) => (value ? "1" : "0") };

/** The format that a request asks for. */
export function formatOf(request: Request, legacyBooleans: "numbers" | "strings"): ApiFormat {
  if (request.headers.get("x-api-version") === "2026-06-12") return STANDARD;
  return legacyBooleans === "strings" ? LEGACY_STRINGS : LEGACY;
}

/** The answer of an error: the one envelope of the standard format, or a legacy shape. */
export function errorAnswer({ isStandard }: ApiFormat, error: ApiError): Response {
  const { status, code, message, details, headers } = error;
  if (isStandard) {
    return Response.json({ error: { code, message, details } }, { status, headers });
  }
  const byField = details.map(({ field, issue }) => [field, [issue]] as const);
  const shapes: Readonly<Record<number, object>> = {
    401: { error: message },
    404: { errors: [message] },
    422: { errors: Object.fromEntries(byField) },
  };
  const type = status === 422 ? { "content-type": "application/vnd.api+json" } : {};
  return Response.json(shapes[status] ?? { message }, { status, headers: { ...headers, ...type } });
}
