import type { Rule } from "../checker/violation.js";
import type { Conviction, FaultResults } from "../run-faults.js";
import type { ModeResult } from "../run-mode.js";
import { convictionsOf, totalsOf } from "./complaints.js";

const COLUMNS: readonly (readonly [string, (result: ModeResult) => string | number])[] = [
  ["mode", ({ mode }) => mode.title],
  ["deliveries", ({ deliveries }) => count(deliveries)],
  ["requests", ({ requests }) => count(requests)],
  ["forgeries", ({ forgeries }) => count(forgeries)],
  ["kill -9", ({ faults }) => faults.kills],
  ["stopped", ({ faults }) => faults.stops],
  ["store restarted", ({ faults }) => faults.restarts],
  ["cut", ({ faults }) => faults.cuts],
  ["black hole, held, slow", ({ faults }) => faults.blackHoles + faults.holds + faults.latencies],
  ["answers lost", ({ faults }) => faults.lostAnswers],
  ["effects", ({ verdict }) => count(verdict.effects)],
  ["doubles explained", ({ verdict }) => verdict.explainedDoubles],
  ["of them not warned", ({ verdict }) => verdict.unwarnedDoubles],
  ["unexplained", ({ verdict }) => `**${verdict.unexplainedDoubles}**`],
  ["violations", ({ verdict }) => `**${verdict.violations.length}**`],
  ["exhausted", ({ verdict }) => verdict.exhausted],
];

/** What the modes with a trouble of their own have had of it; nothing of the others. */
const OWN_TROUBLE: readonly (readonly [string, (result: ModeResult) => string | undefined])[] = [
  [
    "runs that never settled",
    ({ mode, verdict }) =>
      mode.handler.stuckOneIn === undefined ? undefined : count(verdict.stuck),
  ],
  [
    "most handlers at once in a receiver",
    ({ mode, verdict }) => against(mode.limits?.handlersAtOnce, verdict.mostAtOnce),
  ],
  [
    "answers of `overloaded`",
    ({ mode, verdict }) =>
      mode.traffic?.openAtOnce === undefined ? undefined : count(verdict.overloaded),
  ],
  [
    "most server connections",
    ({ mode, mostConnections }) => against(mode.limits?.connections, mostConnections),
  ],
];

function against(allowed: number | undefined, most: number | undefined): string | undefined {
  return allowed === undefined ? undefined : `${most ?? 0}, ${allowed} allowed`;
}

function ownTroubleTable(modes: readonly ModeResult[]): readonly string[] {
  const rows = modes
    .map((result) => [result.mode.title, ...OWN_TROUBLE.map(([, of]) => of(result) ?? "–")])
    .filter(([, ...cells]) => cells.some((cell) => cell !== "–"));
  const header = ["trouble of its own", ...OWN_TROUBLE.map(([name]) => name)];
  return rows.length === 0 ? [] : [table(header, rows), ""];
}

/** The tables of a run. */
export function tablesOf({ modes, convictions }: FaultResults): string {
  const header = COLUMNS.map(([name]) => name);
  const rows = modes.map((result) => COLUMNS.map(([, of]) => String(of(result))));
  const bad = convictions.map((conviction) => [
    conviction.flaw,
    count(conviction.result.deliveries),
    String(conviction.result.faults.kills),
    conviction.convictedBy,
    `**${convictionsOf(conviction)}**`,
    otherRules(conviction),
  ]);
  return [
    table(header, rows),
    "",
    ...ownTroubleTable(modes),
    table(["known-bad receiver", "deliveries", "kill -9", "convicted by", "times", "also"], bad),
  ].join("\n");
}

/** The whole page. `command`: what repeats the run. */
export function pageOf(results: FaultResults, command: string): string {
  const { deliveries, kills, restarts, cuts } = totalsOf(results.modes);
  return `# Proof by faults

Written by \`${command}\`, in ${Math.round(results.ms / 1000)} s: ${count(deliveries)} deliveries, ${kills} times \`kill -9\`, ${restarts} restarts of a store, ${cuts} cuts. Another run of a seed has the same deliveries and the same faults in the same order; what they hit is decided by the machine.

${tablesOf(results)}

## What is done

Four processes of the built package receive what the gateway's twin sends, each request to any of them. The ten attempts of the gateway's schedule take 9.6 seconds. Of the attempts 5 % are sent again after the answer and 5 % twice at once; 2 forgeries come with each 100 deliveries (another secret, a body, id or time that was changed, no signature). A tenth of the handlers' runs fail, before their effect. Two of the four receivers have a wall clock that is an hour off, ahead and behind: their processes, not only the option \`now\`, except with BullMQ, which needs processes that agree on the time. \`timestampToleranceMs\` is 2 h for that: at its default such a receiver refuses all that is fresh, and shows nothing of its store.

After a calm time come the faults: SIGKILL and a new process; SIGSTOP for 1.4 to 1.9 times a lease (of 1.5 s; a job's expiry or lock in the queues); Redis killed (it has \`appendfsync always\`) and PostgreSQL ended in immediate mode, and started again; and, by a proxy before the store, connections that are reset, that swallow everything, that hold everything back and bring it late, that lose the answer to what was written, and that take 200 ms longer. At the end all faults are off, until each delivery is acknowledged or the sender has no attempt left ("exhausted").

Four kinds of trouble have modes of their own, with fewer of these faults:

- **Handlers that never settle**: one delivery in 40 has a first run that never returns. \`handlerTimeoutMs\` is 1 s and \`handlerMaxMs\` 2 s, so that a later attempt of the same 9.6 seconds can take over.
- **A gateway that repeats its first timestamp** in all attempts of a delivery, against its document. \`timestampToleranceMs\` is 7 days, as long as ids are remembered. Half of the runs fail, so that many attempts are late ones.
- **50 times the concurrency**: 800 deliveries come at once, and \`maxConcurrentDeliveries\` of the four receivers comes to 16.
- **A locked table**: another client holds the table of deliveries for 15 s, twenty times as long as a receiver waits for its store (\`npm run faults -- --lock-seconds 60\` for longer), and the server's connections are counted.

Each handler writes its start and its effect into a file of its process, outside of the store, before it goes on: what is written there SIGKILL does not take back. A checker, which has its own tests, judges these files, the answers and the store's content.

## What is judged

- **Acknowledged ⇒ an effect.** Each answer of 2xx, copies included, has an effect, and had it before the answer (with an inbox: a job).
- **Transactional ⇒ exactly one effect**, a row that is written through \`context.tx\`, counted in the database.
- **Inbox ⇒ exactly one job**, finished in the end. The handler runs at least once for it: its doubles are judged as those of a lease.
- **Lease ⇒ each double is explained**: the process of the earlier run was killed before its success was settled, or stood still for the length of a lease, or its lease was lost, or it said that it could not tell the store. All else is "unexplained". "Not warned" are explained doubles whose second handler had \`context.takeover\` false.
- **Completed ⇒ no later run**, after the first 2xx.
- **Forged ⇒ no effect, no row in the store**, and no answer but \`unsigned\` and \`signature_mismatch\`.
- **Genuine ⇒ not refused**: nothing that the gateway signed is answered as a forgery, as malformed or as too old.
- **Never settles ⇒ given up**: no redelivery is answered "in flight" because of a run that began more than \`handlerMaxMs\` and a lease ago (and 2 s, for a slow machine).
- **Bounded**: no receiver runs more handlers at once than \`maxConcurrentDeliveries\`, and the receivers have no more server connections than their pools' \`max\` plus 3 each.
- **No status outside the table** of outcomes, and no delivery that the sender gives up.
- No receiver ends by itself.

The known-bad receivers are the same processes with one mistake each, the first four on Redis under fault injection, the others in the mode for their fault. Each has to break the rule in its row.
`;
}

function otherRules({ convictedBy, result }: Conviction): string {
  const counts = new Map<Rule, number>();
  for (const { rule } of result.verdict.violations) {
    if (rule !== convictedBy) counts.set(rule, (counts.get(rule) ?? 0) + 1);
  }
  return [...counts].map(([rule, times]) => `${rule} (${times})`).join(", ") || "–";
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const rule = header.map((_, at) => (at === 0 ? "---" : "---:"));
  return [line(header), line(rule), ...rows.map(line)].join("\n");
}

function count(number: number): string {
  return number.toLocaleString("en-US").replaceAll(",", " ");
}
