import { UsageError } from "../exit.js";

/** `host:port`, perhaps with a path. A word without a port may be a secret that was passed by mistake. */
const WITHOUT_SCHEME = /^(?:[\w.-]+|\[[0-9a-f:.]+\]):(?<port>\d{1,5})(?:[/?].*)?$/i;
const TLS_PORTS: readonly string[] = ["443", "8443"];

/**
 * Reads the URL of an endpoint: an http or https URL, or `host:port/path`. Throws `UsageError` for any other
 * text. The message does not repeat it, since it may hold a password or a token.
 */
export function readTargetUrl(text: string): URL {
  const given = withScheme(text);
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url?.protocol === "http:" || url?.protocol === "https:") return url;
  throw new UsageError(
    "the endpoint must be an http or https URL, such as http://127.0.0.1:3000/webhooks/gateway",
  );
}

/** Puts `http://` before `host:port/path`, and `https://` if the port is one of TLS. */
export function withScheme(text: string): string {
  const port = WITHOUT_SCHEME.exec(text)?.groups?.["port"];
  if (port === undefined) return text;
  return `${TLS_PORTS.includes(port) ? "https" : "http"}://${text}`;
}

/** The URL for display, without user, password and query, which may hold a token. */
export function shownUrl({ origin, pathname, search }: URL): string {
  return `${origin}${pathname}${search === "" ? "" : "?…"}`;
}
