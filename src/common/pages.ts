/** What the build writes here: `homepage` of package.json, the address of the site, with a slash at its end. Or "". */
declare const HOMEPAGE: string | undefined;

/** What messages name: a page of the documents, or a section of one. `explain` prints it by its name here. */
export const PAGES = {
  "clean-up": "going-live#clean-up",
  "made-up": "test-endpoint#what-is-made-up",
  "odd-text": "handlers#text-that-a-database-refuses",
  stores: "stores",
};

export type PageName = keyof typeof PAGES;

/**
 * Where to read what a message names: its URL, or the command that prints it. Who reads a log has no repository at
 * hand, and may not have the package.
 */
export function whereToRead(name: PageName): string {
  return pageUrl(PAGES[name]) ?? `npx identity-gateway-webhooks explain ${name}`;
}

/** The URL of a page of the site, or undefined if the package has no homepage. */
export function pageUrl(place: string): string | undefined {
  // The sources have none: the tests run them without a build.
  const homepage = typeof HOMEPAGE === "undefined" ? "" : HOMEPAGE;
  return homepage === "" ? undefined : homepage + place.replace(/#|$/, ".html$&");
}
