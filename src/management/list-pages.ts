import type { GatewayCalls } from "./gateway-calls.js";
import { ManagementError } from "./management-error.js";

/**
 * Finds the next page in the body of a list, or in the headers of its answer: a path or URL of the gateway, or a query
 * such as `?page=2` of the same path. Undefined, null or an empty text after the last page. The gateway documents no
 * pages.
 *
 * @experimental
 */
export type NextPage = (body: unknown, headers: Headers) => string | null | undefined;

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
    const { value: body, headers } = await calls.answer({ method: "GET", path: page, signal });
    const found = itemsOf(body, path);
    // Not spread into one call: a list may be longer than the arguments of a call.
    for (const item of found) items.push(item);
    const next = nextPage?.(body, headers) ?? "";
    if (next === "") {
      if (nextPage === undefined && isOnePage(body, headers)) {
        throw incomplete(
          `GET ${path} returned one page of several: pass nextPage, in a shell --next-page`,
        );
      }
      return items;
    }
    const from = next.startsWith("?") ? new URL(page, baseUrl) : baseUrl;
    const url = URL.canParse(next, from.href) ? new URL(next, from) : undefined;
    // The token goes with the request.
    if (url?.origin !== baseUrl.origin) throw incomplete("nextPage named no URL of the gateway");
    if (pages >= MAX_PAGES) throw incomplete(`GET ${path} has more than 1 000 pages`);
    page = url.href;
  }
}

/** Whether an answer is a list that another page follows. `nextPage` says so, or else the usual names of pages. */
export function isOnePage(body: unknown, headers: Headers, nextPage?: NextPage): boolean {
  const items = listOf(body);
  if (items === undefined) return false;
  if (nextPage !== undefined) return (nextPage(body, headers) ?? "") !== "";
  return linksNextPage(headers) || isCut(body, items.length);
}

/** Names of a query that ask for a page. One that asks for its size alone expects the whole. */
const PAGE_NAMES = /^(?:page(?!.?size).*|(?:next_?)?cursor|offset|skip|after)$/i;

/** Whether a query asks for one page. */
export function asksForPage(query: URLSearchParams): boolean {
  return [...query.keys()].some((name) => PAGE_NAMES.test(name));
}

/** A list, bare or under `data`. Undefined for anything else. */
function listOf(body: unknown): readonly unknown[] | undefined {
  const { data } = Object(body) as Record<string, unknown>;
  const list: unknown = Array.isArray(body) ? body : data;
  return Array.isArray(list) ? (list as unknown[]) : undefined;
}

function itemsOf(body: unknown, path: string): readonly unknown[] {
  const items = listOf(body);
  if (items !== undefined) return items;
  throw new ManagementError(
    "unexpected_answer",
    `GET ${path} returned no list: expected a list, bare or under data`,
  );
}

type Fields = Readonly<Record<string, unknown>>;

const NEXT = [
  "next",
  "next_page",
  "next_page_url",
  "next_page_token",
  "next_cursor",
  "nextPage",
  "nextPageUrl",
  "nextPageToken",
  "nextCursor",
];
const PAGES = ["last_page", "total_pages", "pages", "lastPage", "totalPages"];
const MORE = ["has_more", "hasMore", "has_next", "hasNext"];

/** Whether the answer to the first request of a list says, by the usual names of pages, that there is more. */
function isCut(body: unknown, length: number): boolean {
  if (Array.isArray(body)) return false;
  const top = fieldsOf(body);
  const meta = fieldsOf(top["meta"]);
  const parts = [top, meta, top["links"], top["_links"], top["pagination"], meta["pagination"]];
  return parts.map(fieldsOf).some((part) => {
    const hasNext = NEXT.map((name) => part[name]).some(
      (one) => isGiven(one) || isGiven(fieldsOf(one)["href"]),
    );
    const hasPages = PAGES.some((name) => numberOf(part[name]) > 1);
    return (
      hasNext ||
      hasPages ||
      MORE.some((name) => part[name] === true) ||
      numberOf(part["total"]) > length
    );
  });
}

/** RFC 8288: `Link: <…>; rel="next"`. */
function linksNextPage(headers: Headers): boolean {
  return /;\s*rel\s*=\s*(?:next\b|"(?:[^"]*\s)?next(?:\s[^"]*)?")/i.test(headers.get("link") ?? "");
}

function fieldsOf(value: unknown): Fields {
  return Object(value) as Fields;
}

function isGiven(value: unknown): boolean {
  return (typeof value === "string" && value !== "") || typeof value === "number";
}

/** NaN, which is greater than no number, for anything else. */
function numberOf(value: unknown): number {
  return isGiven(value) ? Number(value) : Number.NaN;
}

export function incomplete(message: string): ManagementError {
  return new ManagementError("incomplete_list", message);
}
