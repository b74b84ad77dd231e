import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { firstPage } from "./first-page.js";
import { changeProse, titleOf, withoutMarkup } from "./markdown.js";
import { REPOSITORY, sitePages } from "./navigation.js";
import { pageOfAnchor, SPLITS, type SplitPage } from "./split-pages.js";

/** A page as it was written to the folder of the site. */
export interface StagedPage {
  /** Its path in the site, without `.md`. */
  readonly to: string;
  readonly title: string;
  /** Its Markdown, with links that lead to other pages of the site. */
  readonly text: string;
}

const posix = path.posix;

/** The folder in the site for files that are no pages: rules, SQL, pictures. */
const FILES = "files";

/** A link to a file that is no page. VitePress takes any other as a page that is missing. */
export const FILE_MARK = '{target="_self"}';

/**
 * Writes the documents of the repository to `folder` as the pages of the site, and the files that they link to
 * into `folder/public`. Links lead to where each target stands in the site.
 *
 * @throws Error for a link to a file that does not exist.
 */
export function stage(folder: string, base: string): readonly StagedPage[] {
  const pages = sitePages();
  const splits = new Map<string, SplitPage>();
  for (const [file, split] of Object.entries(SPLITS)) splits.set(file, split(read(file)));

  /** The site's path of what a link in a document leads to. */
  const resolve = (file: string, from: string, link: string, isPicture: boolean): string => {
    const [target = "", anchor] = link.split("#");
    const to = target === "" ? file : posix.normalize(posix.join(posix.dirname(file), target));
    const hash = anchor === undefined ? "" : `#${anchor}`;
    const part = pageOfAnchor(splits.get(to)?.pages ?? [], anchor ?? "");
    if (part !== undefined) return relative(from, part);
    const page = pages.get(to);
    if (page?.to === from && hash !== "") return hash;
    if (page !== undefined) return `${relative(from, page.to)}${hash}`;
    publish(folder, to, file);
    return isPicture ? `/${FILES}/${to}` : `${base}${FILES}/${to}${FILE_MARK}`;
  };

  const staged: StagedPage[] = [];
  const add = (file: string, to: string, title: string, text: string): void => {
    const linked = changeProse(text, (prose) =>
      withoutMarkup(prose).replaceAll(
        /(!?)(\[(?:[^\][]|\[[^\]]*\])*\])\(([^)\s]+)\)/g,
        (whole, mark: string, label: string, link: string) => {
          if (/^[a-z]+:/.test(link)) return whole;
          const [where = "", attributes = ""] = resolve(file, to, link, mark === "!").split(
            /(?=\{)/,
          );
          return `${mark}${label}(${where})${attributes}`;
        },
      ),
    );
    write(posix.join(folder, `${to}.md`), linked);
    staged.push({ to, title, text: linked });
  };

  for (const { file, to, title } of new Set(pages.values())) {
    const split = splits.get(file);
    const own = split?.text ?? read(file);
    // What only the site can show, such as pictures that are not in the package, stands in comments.
    const uncommented = own.replaceAll(/<!-- site: (.*) -->/g, "$1");
    const text = to === "index" ? firstPage(uncommented) : uncommented;
    const heading = title ?? titleOf(text) ?? to;
    add(file, to, heading, title === undefined ? text : `# ${title}\n\n${text}`);
    for (const part of split?.pages ?? []) add(file, part.to, part.title, part.text);
  }
  // At the root, where agents look for it.
  write(posix.join(folder, "public/llms.txt"), read("llms.txt"));
  return staged;
}

/** The relative link from one page to another. */
function relative(from: string, to: string): string {
  return posix.relative(posix.dirname(from), `${to}.md`);
}

function publish(folder: string, file: string, linkedFrom: string): void {
  const source = path.join(REPOSITORY, file);
  if (!existsSync(source) || !statSync(source).isFile()) {
    throw new Error(`${linkedFrom} links to ${file}, which is no file`);
  }
  const target = path.join(folder, "public", FILES, file);
  mkdirSync(path.dirname(target), { recursive: true });
  copyFileSync(source, target);
}

function read(file: string): string {
  return readFileSync(path.join(REPOSITORY, file), "utf8");
}

function write(file: string, text: string): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}
