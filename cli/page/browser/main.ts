import { asCurl, asTest, type Runner } from "./copies.js";
import { DeliveryList, nextOf } from "./delivery-list.js";
import { showDetail, type Action } from "./delivery-detail.js";
import { ask, byId, element } from "./dom.js";
import { find, follow, send, type Delivery } from "./listener-client.js";

const RUNNERS: readonly Runner[] = ["vitest", "jest", "node:test"];

let chosen: Delivery | undefined;
/** The chosen one with its body, which is on its way. */
let detail: ReturnType<typeof find> | undefined;
let runner = 0;

function say(text: string): void {
  byId("state").textContent = text;
}

async function copy(text: string, what: string): Promise<void> {
  const isCopied = await navigator.clipboard.writeText(text).then(
    () => true,
    () => false,
  );
  say(isCopied ? `Copied ${what}.` : "The browser did not allow the copy.");
}

async function sendAnd(what: object): Promise<void> {
  const { delivery, error } = await send(what);
  if (error !== undefined) say(error);
  if (delivery !== undefined) list.chooseSent(delivery);
}

/** Runs an action on the chosen delivery. */
function onChosen(run: (delivery: Delivery) => unknown): () => unknown {
  return () => detail?.then(({ delivery }) => delivery && run(delivery));
}

/** Signs it anew and sends it. Asks first if it is a stranger's. */
function sign({ seq, id }: Delivery, changed: object = {}): void {
  const go = () => void sendAnd({ again: seq, sign: true, ...changed });
  if (id === undefined) ask("unproven", go);
  else go();
}

function edit(delivery: Delivery): void {
  const area = byId("edit").querySelector("textarea")!;
  area.value = delivery.body ?? "";
  ask("edit", (way) => {
    if (way === "sign") sign(delivery, { body: area.value });
    else void sendAnd({ again: delivery.seq, body: area.value });
  });
}

async function save(delivery: Delivery): Promise<void> {
  const { fixture } = await find("fixture", delivery);
  if (fixture === undefined) {
    say("Not saved: it is not authentic.");
    return;
  }
  const href = URL.createObjectURL(new Blob([fixture], { type: "application/json" }));
  element("a", { href, download: `delivery-${delivery.seq}.json` }).click();
  URL.revokeObjectURL(href);
  say("Saved as a fixture, redacted and signed with the test secret.");
}

const ACTIONS: readonly Action[] = [
  { key: "r", name: "send again", run: onChosen(({ seq }) => sendAnd({ again: seq })) },
  { key: "n", name: "under a new id", run: onChosen((one) => sign(one)) },
  { key: "e", name: "edit", run: onChosen(edit) },
  {
    key: "x",
    name: "fail the next",
    run: () => {
      ask("fail", (_, dialog) => {
        const failNext = Number(dialog.querySelector("input")?.value);
        void sendAnd({ failNext, answer: dialog.querySelector("select")?.value });
        say(`The next ${failNext} authentic deliveries fail.`);
      });
    },
  },
  {
    key: "s",
    name: "send a sample",
    run: () => {
      ask("sample", (_, dialog) => {
        void sendAnd({ sample: dialog.querySelector("select")?.value });
      });
    },
  },
  { key: "c", name: "copy as curl", run: onChosen((one) => copy(asCurl(one), "a curl command")) },
  {
    key: "t",
    name: "copy as a test",
    run: onChosen((one) => {
      const name = RUNNERS[runner % RUNNERS.length]!;
      runner += 1;
      return copy(asTest(one, name), `a test for ${name}; press t again for the next runner`);
    }),
  },
  { key: "f", name: "save as a fixture", run: onChosen(save) },
];

async function choose(attempts: readonly Delivery[], listed = attempts.at(-1)): Promise<void> {
  chosen = listed;
  if (listed === undefined) return;
  detail = find("seq", listed);
  const { delivery = listed, error } = await detail;
  // Another one was chosen meanwhile.
  if (chosen !== listed) return;
  if (error !== undefined) say(error);
  showDetail(attempts, delivery, ACTIONS, (other) => void choose(attempts, other));
}

const list = new DeliveryList((attempts) => void choose(attempts));
const filter = byId("filter") as HTMLInputElement;
filter.oninput = () => list.show();

const MOVES: Readonly<Record<string, () => unknown>> = {
  j: () => list.move(1),
  k: () => list.move(-1),
  "/": () => filter.focus(),
};

document.onkeydown = (event) => {
  const { key, target, ctrlKey, metaKey, altKey } = event;
  if (key === "Escape" && target === filter) filter.blur();
  const isTyping = target instanceof Element && target.matches("input, textarea, select");
  if (isTyping || ctrlKey || metaKey || altKey) return;
  if (document.querySelector("dialog[open]") !== null) return;
  const run = MOVES[key] ?? ACTIONS.find((one) => one.key === key)?.run;
  if (run === undefined) return;
  event.preventDefault();
  void run();
};

setInterval(() => {
  const next = document.getElementById("next");
  if (next !== null && chosen !== undefined) next.textContent = nextOf(chosen);
}, 1_000);

say("Nothing has arrived yet. Press s to send a sample.");
byId("detail").replaceChildren(
  element("p", {}, "Deliveries appear here as they arrive. Press s to send a sample."),
);
void follow((deliveries, last) => {
  if (deliveries.length > 0) list.add(deliveries);
  if (last > 0) say(`${last} so far`);
}, say);
