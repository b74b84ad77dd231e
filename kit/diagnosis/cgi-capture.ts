import { recordOf, type HeaderLine } from "../sending/wire.js";
import { CaptureError, type CapturedRequest } from "./captured-request.js";
import { MAX_HEADER_LINES } from "./header-lines.js";

/** `KEY=value`, `export KEY="value"`, and PHP's `[KEY] => value` and `'KEY' => 'value',`. */
const VARIABLE =
  /^[ \t]*(?:export |declare -x )?[['"]?([A-Za-z_][A-Za-z0-9_]*)['"\]]?[ \t]*(?:=>|=)[ \t]?(.*)$/;
/** Lines of PHP's dumps around the variables. */
const FRAME = /^(?:array ?\(?|[()[\]];?)?$/i;

/** Whether the text is a dump of CGI variables: `$_SERVER` of PHP, or the environment of a CGI program. */
export function isCgiDump(bytes: Buffer): boolean {
  const [head = ""] = bytes
    .subarray(0, 65_536)
    .toString("latin1")
    .trimStart()
    .split(/\r?\n\r?\n/, 1);
  const lines = head.split(/\r?\n/);
  const [first] = lines.filter((line) => !FRAME.test(line.trim()));
  if (first === undefined || !VARIABLE.test(first)) return false;
  return lines.some((line) => VARIABLE.exec(line)?.[1]?.startsWith("HTTP_") === true);
}

/** Reads CGI variables, one a line, a blank line, and the body. */
export function parseCgiDump(bytes: Buffer): CapturedRequest {
  const text = bytes.toString("latin1").trimStart();
  const blank = /\r?\n\r?\n/.exec(text);
  if (blank === null) {
    const message = "there is no blank line between the variables and the body";
    throw new CaptureError("missing_blank_line", message);
  }
  const variables = text
    .slice(0, blank.index)
    .split(/\r?\n/)
    .flatMap((line) => variableOf(line));
  const body = Buffer.from(text.slice(blank.index + blank[0].length), "latin1");
  return requestOfVariables(Object.fromEntries(variables), body);
}

function variableOf(line: string): readonly (readonly [string, string])[] {
  const [, name, text = ""] = VARIABLE.exec(line) ?? [];
  if (name === undefined) return [];
  const quoted = /^(["'])(.*)\1,?$/.exec(text.trimEnd())?.[2];
  return [[name, quoted ?? text]];
}

/** Whether an object holds CGI variables, such as `$_SERVER` or a WSGI environment in JSON. */
export function hasCgiHeaders(variables: Readonly<Record<string, unknown>>): boolean {
  return Object.keys(variables).some((name) => name.startsWith("HTTP_"));
}

/** The request that CGI variables describe. CGI writes X-Webhook-Id as HTTP_X_WEBHOOK_ID. */
export function requestOfVariables(
  variables: Readonly<Record<string, unknown>>,
  body: Uint8Array,
): CapturedRequest {
  const lines: HeaderLine[] = [];
  for (const [name, value] of Object.entries(variables)) {
    const header = /^(?:HTTP_(.+)|(CONTENT_(?:TYPE|LENGTH)))$/.exec(name);
    const isText = typeof value === "string" || typeof value === "number";
    // PHP has Content-Type under both names.
    if (header === null || !isText || value === "" || lines.length === MAX_HEADER_LINES) continue;
    const written = headerName(header[1] ?? header[2] ?? "");
    if (!lines.some(([one]) => one === written)) lines.push([written, String(value)]);
  }
  if (lines.length === 0) {
    throw new CaptureError("missing_headers", "no variable begins with HTTP_");
  }
  const { REQUEST_METHOD: method, REQUEST_TIME: seconds } = variables;
  return {
    method: typeof method === "string" ? method : undefined,
    headers: recordOf(lines),
    body,
    receivedAt: timeOf(seconds),
  };
}

function headerName(name: string): string {
  return name
    .toLowerCase()
    .split("_")
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join("-");
}

function timeOf(seconds: unknown): Date | undefined {
  const isUnix = /^[0-9]{9,10}$/.test(String(seconds));
  return isUnix ? new Date(Number(seconds) * 1_000) : undefined;
}
