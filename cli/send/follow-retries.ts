import { inWords } from "../../kit/duration-words.js";
import { createGatewayTwin } from "../../kit/twin/gateway-twin.js";
import { createScaledClock } from "../../kit/twin/scaled-clock.js";
import type { AnsweredBy } from "../../kit/sending/answered-by.js";
import type { TwinAttempt, TwinDelivery } from "../../kit/twin/twin-delivery.js";
import { resultLine, type CommandIo, type Output } from "../terminal/command-io.js";
import type { Content } from "./delivery-source.js";
import { EXIT } from "../exit.js";
import type { Values } from "../options/option-specs.js";
import type { CONNECTION_OPTIONS } from "../options/shared-options.js";
import { READINGS } from "./exchange.js";
import { DROPPED, DROPPED_SENTENCE, LOOK, PAGE_SENTENCE } from "./send-report.js";
import { writeJson, printableLine } from "../terminal/printable.js";
import { shownUrl } from "../options/target-url.js";

/** The options that `followRetries` uses. An acknowledgement of a wrong secret is the failure. */
interface FollowValues extends Values<typeof CONNECTION_OPTIONS> {
  readonly "wrong-secret": boolean;
  readonly times: number;
  readonly concurrent: boolean;
  readonly speed: number;
  readonly json: boolean;
}

/** Delivers as the gateway does until it is acknowledged or given up, and shows each attempt. */
export async function followRetries(
  { out, signal }: CommandIo,
  { "wrong-secret": isWrong, times, concurrent, speed, json, timeout, insecure }: FollowValues,
  url: URL,
  secret: string,
  content: Content,
  id: string,
): Promise<number> {
  const twin = createGatewayTwin({
    target: url,
    secret,
    skipSslVerification: insecure,
    timeoutMs: timeout,
    clock: createScaledClock(speed),
    signal,
    onAttempt: (attempt) => {
      if (!json) out.write(`${attemptLine(out, attempt, times, isWrong)}\n`);
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
  const by = (one: AnsweredBy): boolean =>
    !isWrong && delivery.attempts.some(({ answeredBy }) => answeredBy === one);
  const isLost = isDropped || by("page");
  const passed = isWrong ? !isAcknowledged && fault === undefined : isAcknowledged && !isLost;
  const end = fault ?? sentenceOn(delivery, isWrong);
  const loss = isDropped ? DROPPED_SENTENCE : PAGE_SENTENCE;
  const mark = passed && by("unknown") ? "unseen" : passed;
  const sentence = isLost ? loss : `${end}${mark === "unseen" ? `. ${LOOK}` : ""}`;
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
    out.write(`\n${resultLine(out, mark, sentence)}\n`);
  }
  return passed ? EXIT.passed : EXIT.failed;
}

/** What a final status does to a wrong secret, which has to be refused: no alarm is lost. */
const REFUSED = { text: "stops its retries", format: "yellow" } as const;

function attemptLine({ style }: Output, attempt: TwinAttempt, times: number, isWrong: boolean) {
  const { number, repeat, waitedMs: gapMs, status, outcome, error, ms, result } = attempt;
  const { text, format } = isWrong && result === "final" ? REFUSED : READINGS[result];
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
