import { invalidOption } from "../common/errors.js";
import { isObject } from "../common/option-checks.js";
import type { ErrorDetail, ManagementErrorCode } from "./management-error.js";

/** What an error body of the gateway says. */
export interface GatewayErrorBody {
  readonly code: string | undefined;
  readonly message: string | undefined;
  readonly details: readonly ErrorDetail[];
}

/**
 * Reads the five shapes of an error: the standard envelope `{ error: { code, message, details } }`, and the legacy
 * `{ errors: [...] }`, `{ errors: { field: [...] } }`, `{ error: "…" }` and `{ message: "…" }`. Any other body says
 * nothing.
 */
export function readGatewayError(body: unknown): GatewayErrorBody {
  const { error, errors, message } = Object(body) as Record<string, unknown>;
  if (isObject(error)) {
    const { code, message: text, details } = error;
    const items = Array.isArray(details) ? (details as unknown[]) : [];
    return {
      code: textOf(code),
      message: textOf(text),
      details: items.map(detailOf).filter((detail) => detail !== undefined),
    };
  }
  return {
    code: undefined,
    message: textOf(error) ?? textOf(message),
    details: Array.isArray(errors)
      ? (errors as unknown[]).map(detailOf).filter((detail) => detail !== undefined)
      : detailsByField(errors),
  };
}

/** The form of the gateway's codes. No encoding of a secret has it, and a secret that has it is compared. */
const CODE = /^[A-Z][A-Z0-9_]{0,63}$/;
/** A word that may be a token, whole, cut or encoded. Names of fields and routes are of small letters. */
const LONG_WORD = /[^\s]{16,}/g;
const PLAIN_WORD = /^[a-z_.,:;/()'"-]+$/;

/**
 * The part of an error that may be shown: a gateway may quote what it refuses, in any spelling. After a call with
 * `secrets` that is the code and the names of fields that were sent, after any other all but long words.
 */
export function shownError(
  { code, message, details }: GatewayErrorBody,
  {
    secrets,
    body = {},
  }: { readonly secrets?: readonly string[] | undefined; readonly body?: object | undefined },
  token = "",
): GatewayErrorBody {
  const isShown =
    CODE.test(code ?? "") && ![token, ...(secrets ?? [])].some((one) => repeats(code, one));
  const shownCode = isShown ? code : undefined;
  if (secrets === undefined) {
    const hide = (text: string) =>
      text.replaceAll(LONG_WORD, (word) => (PLAIN_WORD.test(word) ? word : "[hidden]"));
    return {
      code: shownCode,
      message: message === undefined ? undefined : hide(message),
      details: details.map(({ field, issue }) => ({ field: hide(field), issue: hide(issue) })),
    };
  }
  const names = details.flatMap(({ field }) => {
    const name = field.split(/[/.]/).at(-1) ?? "";
    return Object.hasOwn(body, name) ? [name] : [];
  });
  return {
    code: shownCode,
    message: undefined,
    details: names.map((field) => ({ field, issue: "was refused" })),
  };
}

/** Whether a code repeats a value, in any spelling. A short value must be a word of it: "SE" is a part of many codes. */
function repeats(code = "", value: string): boolean {
  const [own = "", given = ""] = [code, value].map((text) =>
    text.toUpperCase().replaceAll(/%[0-9A-F]{2}|[^\p{L}\p{N}]/gu, ""),
  );
  if (given.length < 4) return code.split("_").includes(given);
  return given.includes(own) || own.includes(given);
}

/** Every text and number that goes out as JSON, at any depth. Throws `ConfigurationError` for what is no JSON. */
export function textsOf(name: string, json: object | undefined): readonly string[] {
  const texts: string[] = [];
  try {
    JSON.stringify(json, (_, value: unknown) => {
      if (typeof value === "string" || typeof value === "number") texts.push(String(value));
      return value;
    });
  } catch {
    throw invalidOption(`${name} must be JSON`);
  }
  return texts;
}

/** The code of our error for an answer of the gateway. */
export function codeOfStatus(
  status: number,
  body: GatewayErrorBody,
  hasRetryAfter: boolean,
): ManagementErrorCode {
  switch (status) {
    case 400:
    case 422:
      return "validation_failed";
    case 401:
      return "unauthorized";
    case 403:
      return "forbidden";
    case 404:
      return "not_found";
    case 409:
      return isLegacyThrottling(body, hasRetryAfter) ? "throttled" : "conflict";
    case 429:
      return "throttled";
    default:
      return status >= 500 ? "server_error" : "unexpected_answer";
  }
}

/**
 * A legacy client gets 409 both for a conflict and for throttling. Throttling names a delay, in a standard
 * error by its code too, or says so.
 */
function isLegacyThrottling(
  { code, message = "", details }: GatewayErrorBody,
  hasRetryAfter: boolean,
): boolean {
  if (code !== undefined) return code === "RATE_LIMITED" || hasRetryAfter;
  const texts = [message, ...details.map(({ issue }) => issue)].join(" ");
  return hasRetryAfter || /too many|throttl|rate.?limit/i.test(texts);
}

function detailOf(item: unknown): ErrorDetail | undefined {
  if (typeof item === "string") return { field: "", issue: item };
  if (!isObject(item)) return undefined;
  // `application/vnd.api+json` has `detail`, `title` and `source.pointer`.
  const { field, issue, message, detail, title, source } = item;
  const pointer = textOf((Object(source) as Record<string, unknown>)["pointer"]);
  const text = textOf(issue) ?? textOf(message) ?? textOf(detail) ?? textOf(title);
  if (text === undefined) return undefined;
  return { field: textOf(field) ?? pointer ?? "", issue: text };
}

function detailsByField(errors: unknown): readonly ErrorDetail[] {
  if (!isObject(errors)) return [];
  return Object.entries(errors).flatMap(([field, issues]) =>
    [issues].flat().flatMap((issue) => (typeof issue === "string" ? [{ field, issue }] : [])),
  );
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
