import type { DefaultTheme } from "vitepress";
import { navigation } from "./navigation.js";
import type { StagedPage } from "./stage.js";

/** A part of the sidebar with its pages, in their order. */
export interface SidebarPart {
  readonly title: string;
  readonly pages: readonly StagedPage[];
}

/** The pages of the site by the parts of the sidebar. The pages of a split document follow it. */
export function partsOf(
  pages: readonly StagedPage[],
  api: readonly StagedPage[],
): readonly SidebarPart[] {
  // Twice among the pages: the README is that page too.
  const first = pages.filter(({ to }) => to === "index").slice(0, 1);
  const parts = navigation().map(({ title, pages: own }) => ({
    title,
    pages: own.flatMap(({ to }) => [
      ...pages.filter((page) => page.to === to),
      ...pages.filter((page) => SPLIT.test(page.to) && page.to.startsWith(`${to}/`)),
    ]),
  }));
  return [{ title: "First page", pages: first }, ...parts, { title: "API", pages: api }];
}

/** Pages that are made of the sections of a document. */
const SPLIT = /^(?:answers|errors|frameworks)\//;

/** The sidebar: the pages of a split document are folded below it. */
export function sidebarOf(parts: readonly SidebarPart[]): DefaultTheme.SidebarItem[] {
  return parts.slice(1).map(({ title, pages }) => ({
    text: title,
    items: pages
      .filter(({ to }) => !SPLIT.test(to))
      .map(({ to, title: text }) => {
        const below = pages.filter((page) => SPLIT.test(page.to) && page.to.startsWith(`${to}/`));
        const items = below.map((page) => ({ text: page.title, link: `/${page.to}` }));
        return { text, link: `/${to}`, ...(items.length === 0 ? {} : { collapsed: true, items }) };
      }),
  }));
}
