import { createVirtualClock } from "../../../kit/index.js";
import { createRandom } from "../../../kit/random.js";
import { firedIn } from "../prometheus.js";
import { DAY, HOUR, Recording } from "../recording.js";
import { App, START_MS } from "./app.js";
import { PLANTS, type Plant } from "./plants.js";

/** Minutes between two scrapes. */
const EVERY = 5;
const CALM_DAYS = 14;
const DAYS = 28;

/** What became of one planted failure. */
export interface MonthRow {
  readonly app: string;
  readonly plant: Plant;
  /** Undefined if the right alert did not fire. */
  readonly afterMinutes: number | undefined;
  /** The health of the replica that was worst then. */
  readonly health: string;
  /** Undefined if the right alert did not fire. */
  readonly severity: string | undefined;
  readonly others: readonly string[];
  /** Whether it fired until the cure. */
  readonly held: boolean;
}

export interface Month {
  readonly calm: readonly string[];
  readonly rows: readonly MonthRow[];
  readonly deliveries: number;
}

/** Whether the right alert fired in time. */
export function isNoticed({ afterMinutes = Infinity, plant }: MonthRow): boolean {
  return afterMinutes <= plant.within;
}

/** Runs the month in virtual time, then asks promtool what the rules make of it. */
export async function runMonth(): Promise<Month> {
  const clock = createVirtualClock({ startMs: START_MS });
  const realNow = performance.now.bind(performance);
  performance.now = () => clock.now() - START_MS;
  const apps = [
    new App("receiver", clock, ["a", "b"]),
    new App("second", clock, ["c"]),
    new App("third", clock, ["d", "e", "f"]),
    new App("low", clock, ["g", "h", "i", "j"]),
  ];
  const recording = new Recording([]);
  let deliveries = 0;
  const cures = new Map<App, () => void>();

  const minuteOf = async (app: App, minute: number) => {
    const plant = plantAt(app.job, minute);
    const before = plantAt(app.job, minute - 1);
    if (before !== plant) {
      cures.get(app)?.();
      cures.delete(app);
      if (plant !== undefined) cures.set(app, plant.plant(app, clock));
    }
    plant?.eachMinute?.(app, minute);
    deliveries += traffic(app, minute);
    // By day as the page has it; a run that finds nothing at night changes nothing.
    const isBusy = plant !== undefined || minute % HOUR === 20;
    if (minute % 15 === 5 && isBusy) await app.runJob("check", recording);
    if (minute % HOUR === 50) await app.runJob("reconcile", recording);
    // A deployment each day, while nothing is planted.
    if (minute % DAY === 8 * HOUR && plant === undefined) app.deploy({});
  };
  try {
    for (let minute = 0; minute < DAYS * DAY; minute++) {
      await clock.hold(async () => {
        for (const app of apps) await minuteOf(app, minute);
      });
      await clock.sleep(60_000);
      if (minute % EVERY !== 0) continue;
      for (const app of apps) app.scrape(recording);
      recording.scrape();
    }
  } finally {
    performance.now = realNow;
  }
  return { deliveries, ...judge(recording, apps) };
}

/** The plant of an app at a minute, with when it began. */
function windows(job: string) {
  const plants = PLANTS[job as keyof typeof PLANTS];
  return plants.map((plant, day) => {
    const { from = 9, hours = 8 } = plant;
    const begin = (CALM_DAYS + day) * DAY + from * HOUR;
    return { plant, begin, end: begin + hours * HOUR };
  });
}

function plantAt(job: string, minute: number): Plant | undefined {
  return windows(job).find(({ begin, end }) => minute >= begin && minute < end)?.plant;
}

/** The deliveries of a minute: busy days, quiet weekends, nothing at night; and the small troubles of every day. */
function traffic(app: App, minute: number): number {
  if (app.job === "low") {
    if (minute % DAY !== 10 * HOUR) return 0;
    app.alarms.send(minute);
    return 1;
  }
  const seed = ["receiver", "second", "third"].indexOf(app.job);
  const random = createRandom(minute * 4 + seed);
  const hour = Math.floor((minute % DAY) / HOUR);
  const isWeekend = Math.floor(minute / DAY) % 7 >= 5;
  const busy = hour >= 8 && hour < 20 ? 1 : 0.1;
  const rate = (hour < 6 ? 0 : busy) * (isWeekend ? 0.3 : 1) * (seed === 0 ? 1 : 0.5);
  if (random.fraction() >= rate) return 0;
  const isEvent = random.chance(8);
  const isTwice = random.chance(150);
  (isEvent ? app.events : app.alarms).send(minute, isTwice ? 2 : 1);
  return 1;
}

/** What promtool says fired, and when. */
function judge(recording: Recording, apps: readonly App[]): Omit<Month, "deliveries"> {
  const spans = apps.flatMap((app) => windows(app.job).map((window) => ({ app, ...window })));
  const questions = [
    { from: 0, to: CALM_DAYS * DAY },
    // An alert may need the evening, or the next run of a job.
    ...spans.map(({ begin, end }) => ({ from: begin - EVERY, to: end + 6 * HOUR })),
  ];
  const [calm = [], ...fired] = firedIn(recording, EVERY, questions);
  const rows = spans.map(({ app, plant, begin, end }, at): MonthRow => {
    const [alert, command] = plant.alert.split(" ");
    const ofApp = (fired[at] ?? []).filter(
      ({ labels }) => labels["job"] === app.job || labels["instance"] === app.job,
    );
    const isRight = ({ labels }: (typeof ofApp)[number]) =>
      labels["alertname"] === alert && (command === undefined || labels["command"] === command);
    const [right] = ofApp.filter(isRight).sort((one, other) => one.first - other.first);
    const first = right?.first;
    const names = ofApp
      .filter((one) => !isRight(one))
      .map(({ labels }) => labels["alertname"] ?? "");
    const scrape = Math.ceil((first ?? end - EVERY) / EVERY);
    const health = app.replicas.map((replica) => replica.health[scrape] ?? "").sort();
    return {
      app: app.job,
      plant,
      severity: right?.labels["severity"],
      others: [...new Set(names)],
      afterMinutes: first === undefined ? undefined : first - begin,
      health: health.findLast((one) => one !== "ok") ?? "ok",
      held: ofApp.filter(isRight).some(({ last }) => last >= end - EVERY),
    };
  });
  return { calm: calm.map(({ labels }) => `${labels["alertname"]} ${labels["job"]}`), rows };
}
