import type { DefaultTheme, UserConfig } from "vitepress";
import { slugOf } from "./markdown.js";

/** What the site is built with, besides its pages. */
export interface SiteFacts {
  /** The path below which the site is served, with a slash at both ends. */
  readonly base: string;
  readonly sidebar: DefaultTheme.SidebarItem[];
}

/** The configuration of VitePress. It is written into the folder of the site, so it must be plain. */
export function siteConfig({ base, sidebar }: SiteFacts): UserConfig<DefaultTheme.Config> {
  return {
    base,
    lang: "en",
    title: "identity-gateway-webhooks",
    description:
      "Receives the webhooks of the Identity Protection Gateway: each delivery is handled once, or the gateway sends it again.",
    head: [["link", { rel: "icon", href: "data:," }]],
    outDir: "../site-built",
    markdown: {
      anchor: { slugify: slugOf },
      theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    },
    vite: { build: { chunkSizeWarningLimit: 5_000 }, logLevel: "warn" },
    themeConfig: {
      outline: [2, 3],
      search: {
        provider: "local",
        options: {
          miniSearch: {
            options: {
              // An outcome or an option is one word: signature_mismatch, handlerTimeoutMs.
              tokenize: (text) => text.split(/[^\p{L}\p{N}_-]+/u),
              // Words of questions find nothing, and Next.js is called Next here.
              processTerm: (term) =>
                /^(?:a|an|do|does|how|i|in|is|it|my|of|the|to|what|when|which|why)$/i.test(term)
                  ? null
                  : term.toLowerCase().replace(/^(next|node|nest|nuxt)js$/, "$1"),
            },
            searchOptions: {
              fuzzy: 0.1,
              prefix: true,
              boost: { title: 8, titles: 2, text: 1 },

              // The page of an outcome goes before what else has its name, and the API comes last.
              boostDocument: (id: string) =>
                id.includes("answers/")
                  ? 4
                  : id.includes("options.") || id.includes("frameworks/")
                    ? 3
                    : /api\/|changelog|contributing/.test(id)
                      ? 0.5
                      : 1,
            },
          },
        },
      },
      nav: [
        { text: "Quick start", link: "/#the-first-delivery" },
        { text: "Going live", link: "/going-live" },
        { text: "Answers", link: "/answers" },
        { text: "API", link: "/api/" },
      ],
      sidebar,
      footer: { message: "MIT licence. llms.txt and the Markdown of each page are beside it." },
    },
  };
}
