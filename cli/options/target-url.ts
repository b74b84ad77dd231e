import { isIPv4 } from "node:net";
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

/** Whether the host is this machine, judged by the name alone: a DNS answer could name another machine. */
export function isLoopback({ hostname }: URL): boolean {
  const host = hostname.replace(/\.$/, "").toLowerCase();
  if (host === "localhost" || host.endsWith(".localhost")) return true;
  // The URL parser has already normalized every form of an address.
  if (isIPv4(host)) return host.startsWith("127.");
  return host === "[::1]" || /^\[::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}\]$/.test(host);
}
