import { inWords } from "../../kit/diagnosis/clock-skew.js";
import { createGatewayTwin } from "../../kit/twin/gateway-twin.js";
import { createScaledClock } from "../../kit/twin/scaled-clock.js";
import type { TwinAttempt, TwinDelivery } from "../../kit/twin/twin-delivery.js";
import { resultLine, type CommandIo, type Output } from "../terminal/command-io.js";
import type { Content } from "./delivery-source.js";
import { EXIT } from "../exit.js";
import { READINGS } from "./exchange.js";
import { DROPPED, DROPPED_SENTENCE } from "./send-report.js";
import { writeJson, printableLine } from "../terminal/printable.js";
import { shownUrl } from "../options/target-url.js";

/** Options of `followRetries`. */
export interface Following {
  readonly url: URL;
  readonly content: Content;
  readonly secret: string;
  readonly id: string;
  /** Whether the secret is made up. An acknowledgement is then the failure. */
  readonly isWrong: boolean;
  /** How many times each attempt sends the request. */
  readonly times: number;
  readonly concurrent: boolean;
  /** How many times faster than the gateway it waits. */
  readonly speed: number;
  readonly timeoutMs: number;
  readonly insecure: boolean;
  readonly json: boolean;
}

/** Delivers as the gateway does until it is acknowledged or given up, and shows each attempt. */
export async function followRetries(io: CommandIo, following: Following): Promise<number> {
  const { url, content, secret, id, isWrong, times, concurrent, speed, timeoutMs } = following;
  const { out, signal } = io;
  const { insecure, json } = following;
  const twin = createGatewayTwin({
    target: url,
    secret,
    skipSslVerification: insecure,
    timeoutMs,
    clock: createScaledClock(speed),
    signal,
    onAttempt: (attempt) => {
      if (!json) out.write(`${attemptLine(out, attempt, times)}\n`);
    },
  });
  if (!json) {
    out.write(`${out.style("bold", `POST ${shownUrl(url)}`)}\n`);
    out.write(
      `  ${content.type} ${id}, ${content.body.length} bytes, waits ${speed} times as fast\n\n`,
    );
  }
  const delivery = await twin.deliver(content, { id, times, concurrent });
  await twin.close();
  const isAcknowledged = delivery.end === "acknowledged";
  const fault = isWrong ? faultOfWrongSecret(delivery) : undefined;
  const isDropped = !isWrong && delivery.attempts.some(({ outcome }) => outcome === DROPPED);
  const passed = isWrong ? !isAcknowledged && fault === undefined : isAcknowledged && !isDropped;
  const sentence = isDropped ? DROPPED_SENTENCE : (fault ?? sentenceOn(delivery, isWrong));
  if (json) {
    writeJson(out, {
      url: shownUrl(url),
      delivery: { id, type: delivery.type, bytes: content.body.length },
      attempts: delivery.attempts,
      end: delivery.end,
      reason: delivery.reason,
      passed,
    });
  } else {
    out.write(`\n${resultLine(out, passed, sentence)}\n`);
  }
  return passed ? EXIT.passed : EXIT.failed;
}

function attemptLine({ style }: Output, attempt: TwinAttempt, times: number): string {
  const { number, repeat, waitedMs: gapMs, status, outcome, error, ms, result } = attempt;
  const { text, format } = READINGS[result];
  const wait = number === 1 ? "at once" : `after ${inWords(gapMs)}`;
  return [
    `${number}${times > 1 ? `.${repeat + 1}` : ""}`.padStart(times > 1 ? 5 : 3),
    style("dim", wait.padEnd(17)),
    style(format, status === undefined ? "  –" : String(status)),
    printableLine(error ?? outcome ?? "–", 80).padEnd(18),
    style("dim", `${ms.toFixed(1)} ms`.padStart(10)),
    style(format, text),
  ].join("  ");
}

function waitedMs({ attempts }: TwinDelivery): number {
  const first = attempts.filter(({ repeat }) => repeat === 0);
  return first.reduce((total, attempt) => total + attempt.waitedMs, 0);
}

/** Why the end of a delivery does not show that a wrong secret is refused. */
function faultOfWrongSecret({ attempts }: TwinDelivery): string | undefined {
  // The end counts only the first request of an attempt, and not those that --times repeats.
  const repeated = attempts.find(({ repeat, result }) => repeat > 0 && result === "acknowledged");
  if (repeated !== undefined) {
    const request = `${repeated.number}.${repeated.repeat + 1}`;
    return `request ${request} was acknowledged, although it must be refused`;
  }
  const last = attempts.at(-1)?.number;
  const silent = attempts.find(({ number, status }) => number === last && status === undefined);
  if (silent === undefined) return undefined;
  return printableLine(
    `no answer came to attempt ${silent.number} (${String(silent.error)}), so nothing shows that a wrong secret is refused`,
    400,
  );
}

function sentenceOn(delivery: TwinDelivery, isWrong: boolean): string {
  const { end, reason } = delivery;
  const waited = waitedMs(delivery);
  const when = waited === 0 ? "" : `, ${inWords(waited)} after the first by the gateway's clock`;
  const loss = end === "acknowledged" || isWrong ? "" : ": the alarm is lost";
  return printableLine(`${end.replace("_", " ")}: ${reason}${when}${loss}`, 400);
}
