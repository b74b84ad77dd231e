import type { GatewayCalls } from "./gateway-calls.js";
import { ManagementError } from "./management-error.js";

/**
 * Finds the next page in the body of a list: a path or URL of the gateway, or undefined after the last page. The
 * gateway documents no pages.
 */
export type NextPage = (body: unknown) => string | undefined;

/** More pages than this are a circle. */
const MAX_PAGES = 1_000;

/**
 * All items of a list, bare or under `data`. A list that names a next page is an error without `nextPage`: a webhook
 * or an attempt that is missing in silence is what these tools are for.
 */
export async function listAll(
  calls: GatewayCalls,
  baseUrl: URL,
  path: string,
  nextPage: NextPage | undefined,
  signal: AbortSignal | undefined,
): Promise<readonly unknown[]> {
  const items: unknown[] = [];
  let page = path;
  for (let pages = 1; ; pages++) {
    const body = await calls.call({ method: "GET", path: page, signal });
    items.push(...itemsOf(body));
    const next = nextPage?.(body);
    if (next === undefined) {
      if (nextPage === undefined && namesNextPage(body)) {
        throw incomplete(`GET ${path} returned one page of several: pass nextPage`);
      }
      return items;
    }
    const url = URL.canParse(next, baseUrl.href) ? new URL(next, baseUrl) : undefined;
    // The token goes with the request.
    if (url?.origin !== baseUrl.origin) throw incomplete("nextPage named no URL of the gateway");
    if (pages >= MAX_PAGES) throw incomplete(`GET ${path} has more than 1 000 pages`);
    page = url.href;
  }
}

function itemsOf(body: unknown): readonly unknown[] {
  const { data } = Object(body) as Record<string, unknown>;
  if (Array.isArray(body)) return body as unknown[];
  if (Array.isArray(data)) return data as unknown[];
  throw new ManagementError(
    "unexpected_answer",
    "the answer is no list: expected a list, bare or under data",
  );
}

/** By the usual names of pages. */
function namesNextPage(body: unknown): boolean {
  if (Array.isArray(body)) return false;
  const top = Object(body) as Record<string, unknown>;
  const parts = [top, top["meta"], top["links"], top["pagination"]].map(
    (part) => Object(part) as Record<string, unknown>,
  );
  return parts.some((part) => {
    const { next, next_page_url, next_cursor, has_more, current_page, last_page } = part;
    const hasNext = [next, next_page_url, next_cursor].some(
      (one) => (typeof one === "string" && one !== "") || typeof one === "number",
    );
    return hasNext || has_more === true || Number(last_page) > Number(current_page);
  });
}

function incomplete(message: string): ManagementError {
  return new ManagementError("incomplete_list", message);
}
