import { byId, element } from "./dom.js";
import { colourOf, nextOf } from "./delivery-list.js";
import type { Delivery } from "./listener-client.js";

/** An action with its key. */
export interface Action {
  readonly key: string;
  readonly name: string;
  readonly run: () => unknown;
}

/**
 * Letters and digits as dots: the shape stays, the person does not. A documented name before a colon stays too; it may
 * also stand within a value, but says nothing of a person.
 */
function masked(text: string): string {
  const known = document.body.dataset["keys"]?.split(" ").join("|");
  const names = new RegExp(`("(?:${known})"\\s*:)|[\\p{L}\\p{N}]`, "gu");
  return text.replace(names, (_, name?: string) => name ?? "•");
}

/** The body with the bytes marked that differ. Offsets count bytes, so the text is cut as bytes. */
function bodyPieces({ body = "", differs }: Delivery, show: (text: string) => string) {
  if (differs === undefined) return [show(body)];
  const bytes = new TextEncoder().encode(body);
  const text = (from: number, to?: number) => show(new TextDecoder().decode(bytes.slice(from, to)));
  const { offset, length } = differs;
  const marked = text(offset, offset + length);
  // A line end or a space would be a mark that no one sees.
  const seen = marked.replaceAll("\n", "⏎").replaceAll(" ", "␣") || "▲";
  const title = `${length} of ${bytes.length} bytes differ from what was signed, from byte ${offset}`;
  return [text(0, offset), element("mark", { title }, seen), text(offset + length)];
}

/** Shows the attempts of a row: the chosen one, by default the last, with its findings on top. */
export function showDetail(
  attempts: readonly Delivery[],
  chosen: Delivery,
  actions: readonly Action[],
  onAttempt: (delivery: Delivery) => void,
): void {
  const { type, eventType, outcome, status, reasons, findings, forwarded, headers } = chosen;
  const title = [type ?? "", eventType ?? "", outcome].join(" ").trim();
  const parts: Node[] = [
    element(
      "h2",
      {},
      element("span", { class: `pill ${colourOf(chosen)}` }, `${status || "no answer"}`),
      ` ${title}`,
    ),
    element("p", { id: "next" }, nextOf(chosen)),
  ];
  if (attempts.length > 1) {
    const chips = attempts.map((one) => {
      const isCurrent = String(one.seq === chosen.seq);
      const text = `${one.attempt}: ${one.status || "none"} ${one.outcome}`;
      const chip = element("button", { "aria-current": isCurrent }, text);
      chip.onclick = () => onAttempt(one);
      return chip;
    });
    parts.push(element("p", { class: "actions" }, ...chips));
  }
  const known = findings.map(({ code, message, fix }) =>
    element(
      "div",
      { class: "finding" },
      element("strong", {}, code),
      element("p", {}, message),
      element("p", {}, fix),
    ),
  );
  parts.push(...known, ...reasons.map((reason) => element("p", { class: "bad" }, reason)));
  const buttons = actions.map(({ key, name, run }) => {
    const button = element("button", {}, element("kbd", {}, key), ` ${name}`);
    button.onclick = run;
    return button;
  });
  parts.push(element("p", { class: "actions" }, ...buttons));

  const isText = chosen.body !== undefined;
  const pre = element("pre", { id: "body" }, ...bodyPieces(chosen, masked));
  const unmask = element("button", {}, "Show the body");
  unmask.onclick = () => {
    pre.replaceChildren(...bodyPieces(chosen, (text) => text));
    unmask.remove();
  };
  const size = `${chosen.bytes} bytes${isText ? "" : ", no text"}`;
  const body = element("details", {}, element("summary", {}, `Body, ${size}`), unmask, pre);
  body.open = chosen.differs !== undefined || chosen.bytes < 2_000;
  const sent = headers.map(([name, value]) => `${name}: ${value}`).join("\n");
  const by = forwarded === undefined ? "The answer" : `The app's answer, ${forwarded.ms} ms`;
  parts.push(
    body,
    element("h3", {}, "Headers"),
    element("pre", { id: "headers" }, sent),
    element("h3", {}, by),
    ...(forwarded?.error === undefined ? [] : [element("p", { class: "bad" }, forwarded.error)]),
    element("pre", { id: "answer" }, chosen.answer),
  );
  byId("detail").replaceChildren(...parts);
}
