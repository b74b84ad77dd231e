import type { Rule } from "../checker/violation.js";
import type { Detection, FaultResults } from "../run-faults.js";
import type { ModeResult } from "../run-mode.js";
import { detectionsOf, totalsOf } from "./complaints.js";

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
  ["effects", ({ checked }) => count(checked.effects)],
  ["doubles explained", ({ checked }) => checked.explainedDoubles],
  ["not warned", ({ checked }) => checked.unwarnedDoubles],
  ["unexplained", ({ checked }) => `**${checked.unexplainedDoubles}**`],
  ["violations", ({ checked }) => `**${checked.violations.length}**`],
  ["exhausted", ({ checked }) => checked.exhausted],
];

/** The columns of the special modes. Undefined in a mode that does not have that fault. */
const SPECIAL_COLUMNS: readonly (readonly [string, (result: ModeResult) => string | undefined])[] =
  [
    [
      "runs that never settled",
      ({ mode, checked }) =>
        mode.handler.stuckOneIn === undefined ? undefined : count(checked.stuck),
    ],
    [
      "most handlers at once in a receiver",
      ({ mode, checked }) => against(mode.limits?.handlersAtOnce, checked.mostAtOnce),
    ],
    [
      "answers of `overloaded`",
      ({ mode, checked }) =>
        mode.options?.maxConcurrentDeliveries === undefined ? undefined : count(checked.overloaded),
    ],
    [
      "times that rows were locked",
      ({ mode, faults }) => (mode.faults.rowLocks === 0 ? undefined : count(faults.rowLocks)),
    ],
    [
      "times that connections were ended",
      ({ mode, faults }) => (mode.faults.endings === 0 ? undefined : count(faults.endings)),
    ],
    [
      "acknowledged, lost with an asynchronous standby",
      ({ mode, checked }) =>
        mode.standby === undefined ? undefined : count(checked.explainedLosses),
    ],
    [
      "dead jobs replayed by two operators",
      ({ mode, checked }) => (mode.faults.replays === 0 ? undefined : count(checked.replayed)),
    ],
    [
      "most server connections",
      ({ mode, mostConnections }) => against(mode.limits?.connections, mostConnections),
    ],
  ];

function against(allowed: number | undefined, most: number | undefined): string | undefined {
  return allowed === undefined ? undefined : `${most ?? 0}, ${allowed} allowed`;
}

function specialModesTable(modes: readonly ModeResult[]): readonly string[] {
  const rows = modes
    .map((result) => [
      result.mode.title,
      ...SPECIAL_COLUMNS.map(([, cellOf]) => cellOf(result) ?? "–"),
    ])
    .filter(([, ...cells]) => cells.some((cell) => cell !== "–"));
  const header = ["special mode", ...SPECIAL_COLUMNS.map(([name]) => name)];
  return rows.length === 0 ? [] : [table(header, rows), ""];
}

/** The tables of a run. */
export function tablesOf({ modes, detections }: FaultResults): string {
  const header = COLUMNS.map(([name]) => name);
  const rows = modes.map((result) => COLUMNS.map(([, of]) => String(of(result))));
  const bad = detections.map((detection) => [
    detection.mode.title,
    count(detection.result.deliveries),
    String(detection.result.faults.kills),
    detection.detectedBy,
    `**${detectionsOf(detection)}**`,
    otherRules(detection),
  ]);
  return [
    table(header, rows),
    "",
    ...specialModesTable(modes),
    table(["flawed receiver", "deliveries", "kill -9", "found by rule", "times", "also"], bad),
  ].join("\n");
}

/** The whole page. `command` repeats the run. */
export function pageOf(results: FaultResults, command: string): string {
  const { deliveries, kills, restarts, cuts } = totalsOf(results.modes);
  return `# Proof by faults

Written by \`${command}\` in ${Math.round(results.ms / 1000)} s: ${count(deliveries)} deliveries, ${kills} × \`kill -9\`, ${restarts} restarts of a store, ${cuts} network cuts. A seed always gives the same deliveries and the same faults in the same order. Which request a fault hits depends on timing.

${tablesOf(results)}

## How to run it

\`npm run faults\` runs everything in twenty to forty minutes on two cores. \`-- --seed N\` repeats a run, \`-- --mode lease-redis\` runs one mode, \`-- --short\` takes a minute. \`-- --mode inbox-nats --minutes 10\` runs one mode for that long.

## What a run does

The gateway's twin sends deliveries to four processes that run the built package, and in two modes to one. Each request goes to a random process.

- The ten attempts of the gateway's schedule take 9.6 seconds.
- 5 % of the attempts are sent again after the answer, and 5 % are sent twice at the same time.
- For each 100 deliveries there are 2 forgeries: another secret, a changed body, id or timestamp, or no signature. One mode has 20 for each delivery.
- 10 % of the handler runs fail before their effect.
- Two of the four processes have a wall clock that is an hour off, one ahead and one behind. With BullMQ only the option \`now\` is wrong, because BullMQ needs processes whose clocks agree. \`timestampToleranceMs\` is 2 h, since with the default these two processes would refuse every delivery.

After a calm phase the faults begin:

- SIGKILL, then a new process.
- SIGSTOP for 1.4 to 1.9 times as long as a claim holds: a lease of 1.5 s, or the expiry or lock of a job.
- A crash and a restart of the store: Redis with \`appendfsync always\`, PostgreSQL in immediate mode, MariaDB by SIGKILL.
- Network faults in a proxy in front of the store: it resets connections, drops all data, holds data back, loses the answer to a write, or adds 200 ms of latency.

Then all faults stop. The run ends when each delivery is acknowledged or has used all its attempts ("exhausted").

The special modes have fewer of these faults:

- **Handlers that never settle**: the first run of one delivery in 40 never returns. \`handlerTimeoutMs\` is 1 s and \`handlerMaxMs\` 2 s, so a later attempt can take over within the 9.6 seconds.
- **A gateway that repeats its first timestamp** in all attempts of a delivery, against its contract. \`timestampToleranceMs\` is 7 days, as long as ids are remembered. Half of the runs fail, so many attempts are late.
- **Each record by two webhooks**: every record comes under two ids, as where two webhooks are registered for its type, and the receivers have \`once: "record"\`. One of the two runs.
- **50 times the concurrency**: 800 deliveries arrive at once, and the four receivers together have a \`maxConcurrentDeliveries\` of 16.
- **A burst**: 600 deliveries arrive at once (200 with SQLite), handlers take a twentieth of \`handlerTimeoutMs\`, and each receiver runs 3 of them at once (with SQLite one of all receivers does). No delivery uses all its attempts.
- **800 deliveries at once** are open all the time, 200 for each receiver, so that calls share groups. Another client locks half of the rows that are being handled, eight times, for 0.2 to 2 s; with SQLite it locks the file.
- **Connections ended by the server**: eight times, for 0.2 to 0.8 s, PostgreSQL ends the connections of all receivers about every 100 ms (\`pg_terminate_backend\`). So some connections end at the moment at which they become ready.
- **A locked table**: another client locks the table of deliveries for 15 s (\`--lock-seconds 60\` for longer), which is twenty times as long as a receiver waits for its store. The run counts the server's connections.
- **The whole server suspended** (SIGSTOP) for 13 s while 800 deliveries are open: longer than all attempts of a delivery take. Connections stay open, and the claims that wait reach the server when it goes on.
- **A server that refuses writes**, as a standby does: PostgreSQL with \`default_transaction_read_only\`, six times; Redis with \`maxmemory 1\`, six times. **A role** whose transactions are all serializable, or whose statements end after 40 ms while rows are locked. **A pool** of one connection, or of two: no delivery may use up its attempts.
- **Rows locked in the opposite order** by handlers: PostgreSQL and MariaDB end one of the two transactions. Half of the handlers catch that error and go on, so the store must notice that nothing will be committed.
- **Clocks that jump** by ten minutes, forward and back, while leases are held. The store goes by its server's clock.
- **A replica takes over** that lacks the writes of the last 0.5 to 1 s. What was handled in that time may be handled again: these doubles count as explained. Nothing that was acknowledged is lost.
- **A PostgreSQL standby takes over** that had no writes for the last 0.5 to 1 s, after the primary and all its processes were killed with SIGKILL. If the standby is synchronous, no commit was confirmed without it, and nothing is lost. If it is asynchronous, acknowledged deliveries have neither a record nor an effect: the mode counts them, and they count as explained if they were acknowledged in that time.
- **Two operators**: half of the runs fail, and a job is dead at its first failure. Two of the four processes replay all dead jobs at the same moment, again and again, until none is dead. None is lost, and none has its effect twice.
- **Two ids in one process**: every record comes under two ids, as above, and all requests go to one process. Its leases are of 1 s. It blocks its event loop three times for 2.6 s, and goes on with a request for a record that it is running under the other id. Or its store refuses completions for 2.6 s, takes them for 2.6 s, and so on. In both cases the lease in the store has ended, and the process itself has to know the record.
- **Jobs that kill their workers**: two jobs kill each process that runs them. Both must be dead after the crashes that the engine allows, and all others handled.
- **Other adapters**: \`fetchHandler\`, \`honoHandler\` and \`lambdaHandler\` in place of \`nodeHandler\`.

Each handler writes its start and its effect to a file before it goes on. SIGKILL cannot undo these records. A checker reads the files, the answers and the content of the store. The checker has its own tests.

## The rules

- **Acknowledged ⇒ an effect.** Each delivery with a 2xx answer has an effect, and the effect came before the answer (with an inbox: a job). The only exceptions are one that an asynchronous standby has lost together with its record, and a dead job that killed its workers.
- **Transactional ⇒ exactly one effect**: a row written through \`context.tx\`, counted in the database.
- **Inbox ⇒ exactly one job**, finished at the end. Its handler runs at least once. Doubles follow the rule for leases.
- **Lease ⇒ each double is explained**: the earlier process was killed before its success was stored, was paused for the length of a lease, lost its lease, reported that it could not reach the store, or the store lost what it had confirmed. All other doubles are "unexplained". "Not warned" counts explained doubles whose second handler had \`context.takeover\` false.
- **Once in a process**: with leases, no process runs a delivery or a record that it is running or has handled itself. A pause or a lost lease explains nothing here. The only exception is a store that lost what it had confirmed.
- **Completed ⇒ no later run**: no handler starts after the first 2xx.
- **Forged ⇒ no effect and no row in the store**, and no answer other than \`unsigned\` and \`signature_mismatch\`.
- **Genuine ⇒ not refused**: no delivery of the gateway is refused as a forgery, as malformed or as too old.
- **Never settles ⇒ given up**: no redelivery is answered \`in_flight\` because of a run that began more than \`handlerMaxMs\` plus a lease ago (plus 2 s for a slow machine).
- **Bounded**: no receiver runs more handlers at once than \`maxConcurrentDeliveries\`. The receivers have at most 3 server connections each beyond the \`max\` of their pools.
- **No unknown status**: every status is in the table of outcomes, and the sender gives up no delivery.
- **Kills its workers ⇒ dead**: such a job kills at most 15 processes, and is then dead.
- **No crash**: no other receiver ends by itself.

The flawed receivers are the same processes with one mistake each. The first four run on Redis under fault injection, the others in the mode that their row names. The checker must find that each breaks the rule in its row.
`;
}

function otherRules({ detectedBy, result }: Detection): string {
  const counts = new Map<Rule, number>();
  for (const { rule } of result.checked.violations) {
    if (rule !== detectedBy) counts.set(rule, (counts.get(rule) ?? 0) + 1);
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
