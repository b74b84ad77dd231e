import { expect, test } from "vitest";
import { changeProse, slugOf, splitAt, titleOf, withoutMarkup } from "../../docs/site/markdown.js";
import { SPLITS } from "../../docs/site/split-pages.js";

test("a tag in prose is shown as text, and code and comments stay", () => {
  expect(withoutMarkup("run apply <database> with {{ x }}")).toBe(
    "run apply &lt;database> with &#123;&#123; x }}",
  );
  expect(withoutMarkup("`<url>` and `{{ x }}`, a < b, <!-- mark -->")).toBe(
    "`<url>` and `{{ x }}`, a < b, <!-- mark -->",
  );
});

test("prose is changed outside of fences alone", () => {
  const text = "a\n```sh\na\n```\na";
  expect(changeProse(text, (prose) => prose.replaceAll("a", "b"))).toBe("b\n```sh\na\n```\nb");
});

test("anchors are those of GitHub", () => {
  expect(slugOf("5. Register the webhook, once for each type")).toBe(
    "5-register-the-webhook-once-for-each-type",
  );
  expect(slugOf("Why KV, and what `x_y` gives")).toBe("why-kv-and-what-x_y-gives");
});

test("a document is split at headings of a level outside of code", () => {
  const text = "# T\n\nintro\n\n## A\n\n```sh\n## not a heading\n```\n\n### B\n\nb\n\n## C\n\nc\n";
  expect(titleOf(text)).toBe("T");
  const { before, sections } = splitAt(text, 2);
  expect(before).toBe("# T\n\nintro");
  expect(sections.map(({ title }) => title)).toEqual(["A", "C"]);
  expect(sections[0]?.text).toContain("## not a heading");
  expect(splitAt(text, 3).sections).toEqual([{ title: "B", slug: "b", text: "b" }]);
});

test("an error page has what its section and its row say", () => {
  const table = "| error | comes from | code | where and why |\n| --- | --- | --- | --- |\n";
  const row = "| `AError` | `…/a` | `a_failed`, `a_late` | thrown by `a` |";
  const split = SPLITS["docs/errors.md"]?.(
    `# Errors\n\n${table}${row}\n\n## a_failed\n\nIt failed.\n`,
  );
  expect(split?.pages.map(({ to }) => to)).toEqual(["errors/a_failed", "errors/a_late"]);
  expect(split?.pages[0]?.text).toContain("It failed.\n\n| error | `AError` |");
  expect(split?.text).toContain("[`a_failed`](#a_failed), [`a_late`](#a_late)");
  expect(split?.text).not.toContain("It failed.");
});
