/** A part of a document below one heading. */
export interface Section {
  readonly title: string;
  /** Its anchor, as GitHub makes it. */
  readonly slug: string;
  /** What stands below the heading, without it. */
  readonly text: string;
}

/** The anchor of a heading, as GitHub makes it. The site uses the same, so that links work in both. */
export function slugOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\- ]/gu, "")
    .replaceAll(" ", "-");
}

/** The text up to the first heading of a level, and the sections below the headings of that level. */
export function splitAt(
  text: string,
  level: number,
): { readonly before: string; readonly sections: readonly Section[] } {
  const mark = `${"#".repeat(level)} `;
  const [before = "", ...parts] = splitOutsideOfCode(text, (line) => line.startsWith(mark));
  const sections = parts.map((part) => {
    const [heading = "", ...rest] = part.split("\n");
    const title = heading.slice(mark.length).trim();
    // A heading of a higher level ends a section.
    const [own = ""] = splitOutsideOfCode(rest.join("\n"), (line) =>
      new RegExp(`^#{1,${String(level - 1)}} `).test(line),
    );
    return { title, slug: slugOf(title), text: own.trim() };
  });
  return { before: before.trim(), sections };
}

/** The heading of a document, without its mark-up. Undefined if it has none. */
export function titleOf(text: string): string | undefined {
  const [, title] = /^# (.+)$/m.exec(text) ?? /^title: (.+)$/m.exec(text) ?? [];
  return title?.replaceAll("`", "");
}

/** Changes the lines outside of fences. */
export function changeProse(text: string, change: (prose: string) => string): string {
  let isCode = false;
  return text
    .split("\n")
    .map((line) => {
      if (/^\s*```/.test(line)) isCode = !isCode;
      return isCode ? line : change(line);
    })
    .join("\n");
}

/**
 * A line of prose in which neither `<url>` nor `{{` is mark-up: VitePress would take them for a tag and for a template.
 * What stands between back-ticks, and comments, stay as they are.
 */
export function withoutMarkup(prose: string): string {
  return prose.replaceAll(/(`+)(?:(?!\1).)+\1|<(?=[A-Za-z/])|\{\{/g, (found) => {
    if (found === "<") return "&lt;";
    return found === "{{" ? "&#123;&#123;" : found;
  });
}

function splitOutsideOfCode(text: string, starts: (line: string) => boolean): string[] {
  const parts: string[][] = [[]];
  let isCode = false;
  for (const line of text.split("\n")) {
    if (/^\s*```/.test(line)) isCode = !isCode;
    if (!isCode && starts(line)) parts.push([]);
    parts.at(-1)?.push(line);
  }
  return parts.map((lines) => lines.join("\n"));
}
