import { createRandom } from "../../kit/random.js";
import type { WebhookOutcome } from "../../src/answer/outcome.js";

/** Labels of a series. */
export type Labels = Readonly<Record<string, string>>;

/** Bounds of the histograms, in seconds; enough of them for the thresholds of the rules. */
const BOUNDS = [0.005, 0.05, 0.5, 1, 2.5, 5, 10, 20];

/**
 * The metrics of two processes as a scrape each minute finds them: what promtool calls input series. All
 * counters begin at 0, as those of the library do. A label `instance` that is not given is `a`.
 */
export class Recording {
  readonly #series = new Map<string, { current: number; readonly values: number[] }>();

  constructor(instances: readonly string[] = ["a", "b"]) {
    for (const instance of instances) this.request("handled", { instance }, 0);
  }

  request(outcome: WebhookOutcome, labels: Labels = {}, count = 1): void {
    this.add("gateway_webhook_requests_total", { type: "new_alarm", ...labels, outcome }, count);
  }

  add(name: string, labels: Labels = {}, count = 1): void {
    this.#at(name, labels).current += count;
  }

  set(name: string, value: number, labels: Labels = {}): void {
    this.#at(name, labels).current = value;
  }

  /** Adds to a histogram of durations. */
  observe(of: "store" | "handler", seconds: number, labels: Labels = {}, count = 1): void {
    const name = `gateway_webhook_${of}_duration_seconds`;
    for (const bound of BOUNDS) {
      this.add(`${name}_bucket`, { ...labels, le: String(bound) }, seconds <= bound ? count : 0);
    }
    this.add(`${name}_bucket`, { ...labels, le: "+Inf" }, count);
    this.add(`${name}_count`, labels, count);
  }

  /** A deployment: a process ends, and its successor counts from 0. */
  restart(instance: string): void {
    for (const [key, series] of this.#series) {
      if (key.includes(`instance="${instance}"`)) series.current = 0;
    }
  }

  /** From now on what has this label has no metrics. */
  remove(label: "job" | "instance", value: string): void {
    for (const [key, series] of this.#series) {
      if (key.includes(`${label}="${value}"`)) series.current = Number.NaN;
    }
  }

  /** Ends a minute. */
  scrape(): void {
    for (const { values, current } of this.#series.values()) values.push(current);
  }

  /** In promtool's notation, with the same value many times written once. */
  inputSeries(): readonly { readonly series: string; readonly values: string }[] {
    // Counters that never rise only take time, but for those that show that a receiver is there.
    const isNeeded = ([series, { values }]: [string, { readonly values: readonly number[] }]) =>
      !/_(?:total|bucket|count)\{/.test(series) ||
      series.includes('"handled"') ||
      values.some((value) => value > 0);
    return [...this.#series].filter(isNeeded).map(([series, { values }]) => ({
      series,
      values: runsOf(values).join(" "),
    }));
  }

  #at(name: string, labels: Labels): { current: number } {
    const sorted = Object.entries({ job: "receiver", instance: "a", ...labels }).sort(([a], [b]) =>
      a < b ? -1 : 1,
    );
    const key = `${name}{${sorted.map(([label, value]) => `${label}="${value}"`).join(",")}}`;
    let series = this.#series.get(key);
    if (series === undefined) {
      const [first] = this.#series.values();
      series = { current: 0, values: new Array<number>(first?.values.length ?? 0).fill(0) };
      this.#series.set(key, series);
    }
    return series;
  }
}

function runsOf(values: readonly number[]): readonly string[] {
  const runs: { value: number; length: number }[] = [];
  for (const value of values) {
    const last = runs.at(-1);
    if (last !== undefined && Object.is(last.value, value)) last.length += 1;
    else runs.push({ value, length: 1 });
  }
  return runs.map(({ value, length }) => {
    // promtool's way to write that there is no sample.
    if (Number.isNaN(value)) return `_x${length}`;
    return length === 1 ? String(value) : `${value}+0x${length - 1}`;
  });
}

export const HOUR = 60;
export const DAY = 24 * HOUR;
export const WEEK = 7 * DAY;

/** Deliveries an hour: busy days, quiet weekends, and nothing at night. */
function hourlyRate(minute: number): number {
  const hour = Math.floor((minute % DAY) / HOUR);
  if (hour < 6) return 0;
  const isWeekend = Math.floor((minute % WEEK) / DAY) >= 5;
  const rate = hour >= 8 && hour < 20 ? 60 : 6;
  return isWeekend ? rate / 6 : rate;
}

/** How often something happens that every receiver meets, and no one has to be woken for. */
const PER_DAY = { failure: 2, duplicate: 6, hangUp: 2, storeBlip: 1, slow: 4 };

const DELIVERIES_PER_DAY = 750;

/** A minute of a receiver that works, with the small troubles of every day. */
export function calmMinute(recording: Recording, minute: number): void {
  const random = createRandom(minute);
  const rate = hourlyRate(minute) / HOUR;
  const deliveries = Math.floor(rate) + (random.fraction() < rate % 1 ? 1 : 0);
  for (let sent = 0; sent < deliveries; sent++) {
    const instance = random.pick(["a", "b"]);
    const type = random.chance(10) ? "delete_my_data_event" : "new_alarm";
    const happens = (what: keyof typeof PER_DAY) =>
      random.fraction() < PER_DAY[what] / DELIVERIES_PER_DAY;
    // A failure is cured by the next attempt.
    if (happens("failure")) {
      recording.request("handler_failed", { instance, type });
      const event_type = type === "new_alarm" ? "none" : "DATA_REAPPEARED";
      recording.add("gateway_webhook_handler_failures_total", { instance, type, event_type });
    }
    if (happens("storeBlip")) recording.request("store_unavailable", { instance, type });
    if (happens("hangUp")) recording.add("gateway_webhook_disconnected_total", { instance });
    if (happens("duplicate")) recording.request("duplicate", { instance, type });
    recording.request("handled", { instance, type });
    recording.observe("store", happens("slow") ? 1.5 : 0.002, { instance });
    recording.observe("store", 0.002, { instance });
    recording.observe("handler", happens("slow") ? 12 : 0.2, { instance });
  }
  const ofDay = minute % DAY;
  const instance = random.pick(["a", "b"]);
  // Bots find the URL, at night as well.
  if (ofDay === 3 * HOUR) recording.request("malformed", { instance, type: "other" }, 12);
  if (ofDay % HOUR === 7) recording.request("reachable", { instance, type: "other" });
  if (ofDay === 4 * HOUR) recording.request("signature_mismatch", { instance });
  // A burst each morning, which the workers need eight minutes for.
  const age = Math.max(0, 8 - Math.abs(ofDay - 7 * HOUR)) * 60;
  recording.set("gateway_webhook_jobs_oldest_age_seconds", age, { queue: "gateway-deliveries" });
  recording.set("gateway_webhook_jobs_queued", 0, { queue: "gateway-deliveries", state: "dead" });
  // A deployment each day, one process after the other.
  if (ofDay === 10 * HOUR) recording.restart("a");
  if (ofDay === 10 * HOUR + 1) recording.restart("b");
  for (const replica of ["a", "b"]) {
    const at = { instance: replica };
    const started = Math.floor((minute - 10 * HOUR) / DAY) * DAY + 10 * HOUR;
    recording.set("gateway_webhook_started_seconds", 60 * started, at);
    recording.set("up", 1, at);
    recording.set("gateway_webhook_in_flight", 0, at);
  }
  recording.set("gateway_webhook_check_exit_code", 0, { command: "check" });
}
