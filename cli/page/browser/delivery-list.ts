import { headerOf } from "../../../kit/sending/wire.js";
import { byId, element } from "./dom.js";
import type { Delivery } from "./listener-client.js";

/** As many as the listener remembers. */
const MAX_DELIVERIES = 500;
const REFRESH_MS = 100;

/** What the gateway makes of an answer, as the name of a colour. */
export function colourOf({ result }: Delivery): string {
  return result === "acknowledged"
    ? "good"
    : result === "final" || result === "unlisted"
      ? "bad"
      : "again";
}

/** What the gateway does next. */
export function nextOf({ result, againAt, givenUpAt }: Delivery, now = Date.now()): string {
  if (againAt === undefined || givenUpAt === undefined) {
    return result === "acknowledged"
      ? "the gateway takes it as received"
      : result === "final" || result === "unlisted"
        ? "the gateway gives it up"
        : "the gateway would send it again";
  }
  const seconds = Math.round((Date.parse(againAt) - now) / 1_000);
  const end = new Date(givenUpAt).toTimeString().slice(0, 5);
  return `${seconds > 0 ? `sent again in ${seconds} s` : "due to be sent again"}, given up at ${end}`;
}

/** Deliveries of one id, in a row. A delivery that was sent from here has a row of its own. */
interface Row {
  readonly key: string;
  readonly attempts: Delivery[];
}

/** What a delivery is, in words. */
function nameOf({ type = "", eventType = "", outcome, source }: Delivery): string {
  const name = [type, eventType, outcome].join(" ").trim();
  return source === "listener" ? `${name} (sent here)` : name;
}

function focusOn(key: string): void {
  for (const button of document.querySelectorAll<HTMLElement>("#rows button")) {
    if (button.dataset["key"] === key) button.focus();
  }
}

/** The list, newest first, and which row is chosen. */
export class DeliveryList {
  #rows: Row[] = [];
  #deliveries: Delivery[] = [];
  #chosen = "";
  /** How many have come since the last announcement. */
  #fresh = 0;
  /** Whether the rows are about to be made. */
  #isDue = false;
  readonly #onChoice: (attempts: readonly Delivery[]) => void;

  constructor(onChoice: (attempts: readonly Delivery[]) => void) {
    this.#onChoice = onChoice;
  }

  add(deliveries: readonly Delivery[]): void {
    this.#deliveries = [...this.#deliveries, ...deliveries].slice(-MAX_DELIVERIES);
    // In a flood the rows are made a few times a second.
    this.#fresh += deliveries.length;
    if (this.#isDue) return;
    this.#isDue = true;
    setTimeout(() => {
      this.#isDue = false;
      this.#update();
      this.#announce();
    }, REFRESH_MS);
  }

  /** Says to a screen reader what is new. */
  #announce(): void {
    const last = this.#deliveries.at(-1)!;
    const what = `${last.status || "no answer"} ${nameOf(last)}`;
    byId("news").textContent = this.#fresh > 1 ? `${this.#fresh} new, the last: ${what}` : what;
    this.#fresh = 0;
  }

  #update(): void {
    const before = this.chosen?.attempts.at(-1);
    const rows = new Map<string, Row>();
    for (const one of this.#deliveries) {
      const id = headerOf(one.headers, document.body.dataset["id"] ?? "");
      const key = one.source === "gateway" && id !== undefined ? `id ${id}` : `seq ${one.seq}`;
      const row = rows.get(key) ?? { key, attempts: [] };
      row.attempts.push(one);
      // The row moves to the top with its newest attempt.
      rows.delete(key);
      rows.set(key, row);
    }
    this.#rows = [...rows.values()].reverse();
    this.show();
    if (!rows.has(this.#chosen)) this.#choose(this.#rows[0]);
    else if (this.chosen?.attempts.at(-1) !== before) this.#choose(this.chosen);
  }

  get chosen(): Row | undefined {
    return this.#rows.find(({ key }) => key === this.#chosen);
  }

  /** Chooses the row of a delivery that was sent from here. */
  chooseSent({ seq }: Delivery): void {
    this.#chosen = `seq ${seq}`;
    // If it is not in the list yet, it is chosen when it comes.
    this.#choose(this.chosen);
  }

  /** Moves the choice among the rows that the filter shows. */
  move(by: number): void {
    const shown = this.#shown();
    const at = shown.findIndex(({ key }) => key === this.#chosen);
    this.#choose(shown[Math.min(Math.max(at + by, 0), shown.length - 1)]);
    focusOn(this.#chosen);
  }

  show(): void {
    const items = this.#shown().map((row) => {
      const last = row.attempts.at(-1)!;
      const count = row.attempts.length;
      const isCurrent = String(row.key === this.#chosen);
      const button = element(
        "button",
        { "aria-current": isCurrent, "data-key": row.key },
        element("span", { class: `pill ${colourOf(last)}` }, String(last.status || "none")),
        element("span", {}, nameOf(last)),
        element("time", {}, new Date(last.at).toTimeString().slice(0, 8)),
        element("small", {}, `${count > 1 ? `${count} attempts, ` : ""}${nextOf(last)}`),
      );
      button.onclick = () => this.#choose(row);
      return element("li", {}, button);
    });
    const focused = document.activeElement?.getAttribute("data-key");
    byId("rows").replaceChildren(...items);
    // A new row must not take the focus from the one that a reader is on.
    if (typeof focused === "string") focusOn(focused);
  }

  #shown(): readonly Row[] {
    const words = (byId("filter") as HTMLInputElement).value.toLowerCase().split(/\s+/);
    if (words.join("") === "") return this.#rows;
    return this.#rows.filter(({ key, attempts }) => {
      const text = attempts
        .map((one) => [key, one.type, one.eventType, one.outcome, one.status].join(" "))
        .join(" ")
        .toLowerCase();
      return words.every((word) => text.includes(word));
    });
  }

  #choose(row: Row | undefined): void {
    if (row === undefined) return;
    this.#chosen = row.key;
    for (const item of document.querySelectorAll("#rows button")) {
      item.setAttribute("aria-current", "false");
    }
    const at = this.#shown().indexOf(row);
    document.querySelectorAll("#rows button")[at]?.setAttribute("aria-current", "true");
    this.#onChoice(row.attempts);
  }
}
