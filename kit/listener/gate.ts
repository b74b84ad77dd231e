import { timingSafeEqual } from "node:crypto";

/** What the gate looks at. */
export interface GateRequest {
  readonly method: string;
  /** The target as it was sent: path and query. */
  readonly target: string;
  /** Every value of each header, by its name in lower case: Node's `headersDistinct`. */
  readonly headers: Readonly<Record<string, readonly string[] | undefined>>;
}

/** The server that the gate protects. */
export interface GateKeeper {
  readonly port: number;
  /** 128 bits in hexadecimal. */
  readonly token: string;
}

const ROUTES = { "GET /": "page", "GET /deliveries": "deliveries", "POST /send": "send" } as const;

/** The route of a request that may pass, or the answer to any other. */
export type Passage =
  | { readonly route: (typeof ROUTES)[keyof typeof ROUTES]; readonly query: URLSearchParams }
  | { readonly status: number; readonly message: string };

/**
 * Decides about every request before anything else looks at it.
 *
 * - Only this machine's two names are a valid Host, so a foreign name that resolves to 127.0.0.1 is refused.
 * - A path has one spelling. `/%73end` or `/x/../send` would be checked as one path and served as another.
 * - The token is in a header, which no foreign page can set, and not in a cookie, which a browser adds itself.
 */
export function gate({ method, target, headers }: GateRequest, keeper: GateKeeper): Passage {
  const { host = [], origin = [], authorization = [] } = headers;
  const [name = ""] = host;
  const own = ["127.0.0.1", "localhost"].map((one) => `${one}:${keeper.port}`);
  if (host.length !== 1 || !own.includes(name)) {
    return { status: 403, message: `Host must be ${own.join(" or ")}` };
  }
  const base = `http://${name}`;
  if (origin.length > 1 || (origin[0] ?? base) !== base) {
    return { status: 403, message: "Origin must be that of the server, or absent" };
  }
  const [path = ""] = target.split("?", 1);
  const url = URL.canParse(base + target) ? new URL(base + target) : undefined;
  if (url?.origin !== base || url.pathname !== path || !/^\/[a-z]*$/.test(path)) {
    return { status: 400, message: "the path must be written plainly" };
  }
  const route = new Map<string, Extract<Passage, { route: unknown }>["route"]>(
    Object.entries(ROUTES),
  ).get(`${method} ${path}`);
  // The page holds no data, and a browser cannot send a header when it opens one.
  if (route === "page" && url.search === "") return { route, query: url.searchParams };
  if (authorization.length !== 1 || !isSame(authorization[0] ?? "", `Bearer ${keeper.token}`)) {
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
