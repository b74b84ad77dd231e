import { bodyOf } from "./deliveries.js";
import { startServer, type RunningServer } from "./http/load.js";
import { SERVERS, type ServerName } from "./http/servers.js";
import { deliver } from "./report/deliver.js";
import { duration, ratio } from "./report/markdown.js";
import { medianOf, ratioOf } from "./rounds.js";
import { shuffled } from "./statistics.js";

/** Each generation has new servers, since the compiler optimizes the same code differently in each process. */
const GENERATIONS = 3;
/** Rounds of a generation. */
const ROUNDS = 5;
const REQUESTS = 2_000;
/** Until then the compiler's threads, which count too, use up to twice the time of the requests. */
const WARM_UP_REQUESTS = 20_000;

const NAMES = Object.keys(SERVERS) as ServerName[];

const body = bodyOf("1 KB");
const samples = new Map<string, number[]>(NAMES.map((name) => [name, []]));

async function measureGeneration(): Promise<void> {
  const servers: RunningServer[] = [];
  try {
    for (const name of NAMES) servers.push(await startServer(name));
    for (const server of servers) await server.load(body, WARM_UP_REQUESTS);
    for (let round = 0; round < ROUNDS; round++) {
      for (const server of shuffled(servers)) {
        samples.get(server.name)?.push(await server.load(body, REQUESTS));
      }
    }
  } finally {
    for (const server of servers) server.stop();
  }
}

for (let generation = 0; generation < GENERATIONS; generation++) await measureGeneration();

const toFloor = (name: ServerName): number => ratioOf(samples, name, "floor");
const oursToByHand = (framework: "Node" | "Express" | "Hono"): number =>
  ratioOf(samples, `ours on ${framework}`, `hand-written on ${framework}`);

deliver({
  values: {
    httpFloor: toFloor("ours on Node"),
    httpNode: oursToByHand("Node"),
    httpExpress: oursToByHand("Express"),
    httpHono: oursToByHand("Hono"),
  },
  tables: [
    {
      title: "HTTP, 1 KB alarm, 32 connections: CPU of the server per request",
      columns: ["server", "÷ floor", "CPU per request"],
      rows: NAMES.map((name) => [
        name,
        ratio(toFloor(name)),
        duration(medianOf(samples, name) * 1_000),
      ]),
    },
    {
      title: "HTTP: CPU of ours ÷ the other's",
      columns: ["ours on", "÷ hand-written, same framework", "÷ octokit on Node"],
      rows: (["Node", "Express", "Hono"] as const).map((framework) => [
        framework,
        ratio(oursToByHand(framework)),
        ratio(ratioOf(samples, `ours on ${framework}`, "octokit on Node")),
      ]),
    },
  ],
});
