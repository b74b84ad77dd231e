import { timingSafeEqual } from "node:crypto";

/** What the gate looks at. */
export interface GateRequest {
  readonly method: string;
  /** The target as it was sent: path and query. */
  readonly target: string;
  /** Every value of each header, by its name in lower case: Node's `headersDistinct`. */
  readonly headers: Readonly<Record<string, readonly string[] | undefined>>;
}

/** The largest body that a local server reads. */
export const MAX_BODY_BYTES = 4_194_304;

function refused(status: number, code: string, message: string) {
  return { status, code, message };
}

/**
 * Decides about every request to a local server before anything else looks at it: any page in a browser on this
 * machine can send requests to it.
 *
 * - Only known names are a valid Host, so a foreign name that resolves to 127.0.0.1 is refused.
 * - A browser sends the Origin of a page with every POST, and asks before it sends JSON to another origin.
 *
 * `hosts`: names, with a port or with any. `"any"`: the port of the deliveries, which a public URL may lead to. The
 * gateway sends no Origin, so every Origin is foreign there, and the answer makes the gateway send again.
 */
export function refusalOf(
  { method, headers }: Pick<GateRequest, "method" | "headers">,
  hosts: readonly string[] | "any",
): ReturnType<typeof refused> | undefined {
  const { host = [], origin = [] } = headers;
  const { "content-type": [type = ""] = [], "content-length": [length = ""] = [] } = headers;
  const [name = ""] = host;
  // https: a dev container in the cloud has TLS in front.
  const own = hosts === "any" ? [] : [`http://${name}`, `https://${name}`];
  const isForeign = origin.length > 0 && !own.includes(origin.join());
  if (hosts === "any") {
    return isForeign ? refused(409, "ORIGIN_NOT_ALLOWED", "no Origin is allowed") : undefined;
  }
  const isKnown = hosts.includes(name) || hosts.includes(name.replace(/:\d+$/, ""));
  if (host.length !== 1 || !isKnown) {
    const message = `Host must be ${hosts.join(" or ")}; --allow-host adds a name`;
    return refused(403, "HOST_NOT_ALLOWED", message);
  }
  if (isForeign) return refused(403, "ORIGIN_NOT_ALLOWED", "only its own Origin is allowed");
  if (["POST", "PUT", "PATCH"].includes(method) && !/^application\/json *(?:;|$)/i.test(type)) {
    return refused(415, "UNSUPPORTED_MEDIA_TYPE", "send Content-Type: application/json");
  }
  if (Number(length) <= MAX_BODY_BYTES) return undefined;
  return refused(413, "BODY_TOO_LARGE", `at most ${MAX_BODY_BYTES} bytes`);
}

const BASE = "http://localhost";
const ROUTES = { "GET /": "page", "GET /deliveries": "deliveries", "POST /send": "send" } as const;

type Route = (typeof ROUTES)[keyof typeof ROUTES];

/** The route of a request that may pass, or the answer to any other. */
export type Passage =
  | { readonly route: Route; readonly query: URLSearchParams }
  | { readonly status: number; readonly message: string };

/**
 * The route of a request to the API of a listener. `token`: 128 bits in hexadecimal.
 *
 * - A path has one spelling. `/%73end` or `/x/../send` would be checked as one path and served as another.
 * - The token is in a header, which no foreign page can set, and not in a cookie, which a browser adds itself.
 */
export function routeOf({ method, target, headers }: GateRequest, token: string): Passage {
  const { authorization = [] } = headers;
  const [path = ""] = target.split("?", 1);
  const url = URL.canParse(BASE + target) ? new URL(BASE + target) : undefined;
  if (url?.origin !== BASE || url.pathname !== path || !/^\/[a-z]*$/.test(path)) {
    return { status: 400, message: "the path must be written plainly" };
  }
  const route = new Map<string, Route>(Object.entries(ROUTES)).get(`${method} ${path}`);
  // The page holds no data, and a browser cannot send a header when it opens one.
  if (route === "page" && url.search === "") return { route, query: url.searchParams };
  if (authorization.length !== 1 || !isSame(authorization[0] ?? "", `Bearer ${token}`)) {
    return { status: 401, message: "send the token: Authorization: Bearer <token>" };
  }
  if (route !== undefined && route !== "page") return { route, query: url.searchParams };
  const isKnown = Object.keys(ROUTES).some((one) => one.endsWith(` ${path}`));
  return isKnown
    ? { status: 405, message: "this path takes another method" }
    : { status: 404, message: "there is no such path" };
}

function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
