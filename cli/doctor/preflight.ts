import { makeDelivery, OTHER_SECRET } from "../../kit/conformance/test-deliveries.js";
import { createSender } from "../../kit/sending/sender.js";
import { errorText, SendError, type Sender, type SenderOptions } from "../../kit/sending/target.js";
import { resultOfStatus, type StatusResult } from "../../src/answer/outcome.js";
import { isLoopback } from "../../src/management/call-settings.js";
import { outcomeOf, type WireAnswer, type WireRequest } from "../../kit/sending/wire.js";
import type { WebhookType } from "../../src/delivery/headers.js";
import { otherSecret } from "../options/secret-source.js";
import type { DoctorPlan } from "./doctor-options.js";
import { checkHandledProbe } from "./probes.js";
import { sendFault } from "../send/exchange.js";
import { shownUrl } from "../options/target-url.js";
import { printableLine } from "../terminal/printable.js";

/** Why no case can tell anything about the endpoint. */
export interface Obstacle {
  readonly code:
    | "unreachable"
    | "no_answer"
    | "tls"
    | "wrong_path"
    | "redirect"
    | "proxy"
    | "secret"
    | "probe"
    | "stopped";
  /** What was found, in one line. */
  readonly message: string;
  /** What to change. */
  readonly fix: string;
}

/**
 * Sends a genuine delivery of each type. Resolves to the reason why nothing behind the URL can be tested:
 * nothing is there, its certificate is not trusted, the path is wrong, it has another secret for one type, or
 * `--handled` gives no count.
 * Undefined if the cases can begin. With `--redirects` it follows a redirect, with `--yes` also to another machine.
 */
export async function findObstacle(plan: DoctorPlan): Promise<Obstacle | undefined> {
  const { url, types, connection, values } = plan;
  const { handled, "handled-within": withinMs } = values;
  const sender = createSender(url, connection);
  let first: Obstacle | undefined;
  try {
    for (const type of types) {
      const delivery = await makeDelivery({ ...plan, types: [type], now: Date.now });
      const answer = await sender.send(delivery);
      const obstacle = obstacleIn(answer, url);
      if (obstacle?.code === "redirect" && values.redirects) {
        const followed = await followRedirects(url, answer, delivery, values.yes, connection);
        return { ...obstacle, message: `${obstacle.message}. ${followed}` };
      }
      first ??= obstacle;
      // A status for one type only is a finding of the cases about that type.
      if (obstacle !== undefined) continue;
      // Nothing counts a delivery that no handler got.
      const isCounted = isAcknowledged(answer) && outcomeOf(answer.body) !== "unhandled";
      const isProbed = isCounted && handled !== undefined;
      const uncounted = isProbed
        ? await probeObstacle(handled, delivery.id, withinMs, connection)
        : undefined;
      return uncounted ?? (await secretObstacle(plan, sender, type, answer));
    }
    return first;
  } catch (error) {
    return connectionObstacle(url, error);
  } finally {
    sender.close();
  }
}

const isAcknowledged = ({ status }: WireAnswer): boolean =>
  resultOfStatus(status) === "acknowledged";

/**
 * Whether deliveries of one type are accepted, and those of the other answered like any with a wrong secret. Then the
 * cases would all condemn a right receiver. `known`: the answer to a delivery of `type`.
 */
async function secretObstacle(
  plan: DoctorPlan,
  sender: Sender,
  type: WebhookType,
  known: WireAnswer,
): Promise<Obstacle | undefined> {
  const other = plan.types.find((one) => one !== type);
  if (other === undefined) return undefined;
  const answerTo = async (of: WebhookType, secret?: string): Promise<WireAnswer> =>
    sender.send(await makeDelivery({ ...plan, types: [of], now: Date.now }, { secret }));
  try {
    const also = await answerTo(other);
    if (isAcknowledged(also) === isAcknowledged(known)) return undefined;
    const [accepted, refused, answer] = isAcknowledged(known)
      ? ([type, other, also] as const)
      : ([other, type, known] as const);
    const wrong = await answerTo(refused, OTHER_SECRET);
    const how = statusAndOutcome(answer);
    const isOfSignature = answer.status < 500 && answer.status !== 429;
    if (!isOfSignature || how !== statusAndOutcome(wrong)) return undefined;
    return { code: "secret", ...otherSecret(accepted, refused, how) };
  } catch {
    // What fails for one type alone is a finding of the cases.
    return undefined;
  }
}

function statusAndOutcome({ status, body }: WireAnswer): string {
  const outcome = outcomeOf(body);
  return `${status}${outcome === undefined ? "" : ` ${printableLine(outcome, 40)}`}`;
}

async function probeObstacle(
  handled: string,
  id: string,
  handledWithinMs: number,
  connection: SenderOptions,
): Promise<Obstacle | undefined> {
  try {
    await checkHandledProbe(handled, id, handledWithinMs, connection);
    return undefined;
  } catch (error) {
    return {
      code: "probe",
      message: `${errorText(error)}. The endpoint had acknowledged the delivery.`,
      fix: "Correct the URL of --handled: to GET it answers 200 with the number of times that the id in it was handled, and with 0 for an id that is not.",
    };
  }
}

/** The statuses that a router or a proxy answers, not a receiver. */
function obstacleIn(answer: WireAnswer, url: URL): Obstacle | undefined {
  const { status } = answer;
  if (status >= 300 && status < 400) {
    const target = redirectTarget(answer, url);
    const to = target === undefined ? "" : ` to ${printableLine(shownUrl(target))}`;
    return {
      code: "redirect",
      message: `${shownUrl(url)} answers ${status}, a redirect${to}`,
      fix: "Pass the URL that the endpoint itself has, and register that one. No document says whether the gateway follows redirects. If it does not, it gets no 2xx. If it does, it may send a GET without the body, as many senders do: --redirects shows what that is answered.",
    };
  }
  if (status === 404 || status === 405 || status === 410) {
    return {
      code: "wrong_path",
      message: `${shownUrl(url)} answers ${status} to a signed POST: no webhook is at this path`,
      fix: "Pass the path at which your app mounts the receiver, and check that it takes POST. If your receiver itself answers this to what it cannot verify, check the secret, and let it answer 409.",
    };
  }
  if (status === 502 || status === 504) {
    return {
      code: "proxy",
      message: `${shownUrl(url)} answers ${status}: a proxy is there, but no endpoint behind it`,
      fix: "Start the endpoint, or correct the address to which the proxy forwards.",
    };
  }
  return undefined;
}

/** What an error of a connection says about the URL. */
export function connectionObstacle(url: URL, error: unknown): Obstacle {
  const reason = sendFault(error);
  if (error instanceof SendError && error.code === "timeout") {
    return {
      code: "no_answer",
      message: `${shownUrl(url)}: ${reason}`,
      fix: "Check host and port, a firewall in between, and whether the endpoint waits for something. --timeout waits longer.",
    };
  }
  const codes = errorCodes(error);
  if (codes.some((code) => UNTRUSTED.test(code))) {
    return {
      code: "tls",
      message: `the certificate of ${url.host} is not trusted: ${reason}`,
      fix: "For a local or staging certificate pass --insecure, as skip_ssl_verification does for the gateway. In production install a certificate for this host name, with its intermediate certificates.",
    };
  }
  if (codes.includes("EPROTO") || codes.some((code) => code.startsWith("ERR_SSL_"))) {
    return {
      code: "tls",
      message: reason.includes("wrong version number")
        ? `${url.host} does not speak TLS`
        : `no TLS connection to ${url.host}: ${reason}`,
      fix: "Begin the URL with http:// if the endpoint has no TLS, or correct the port.",
    };
  }
  if (codes.includes("ECONNRESET")) {
    return {
      code: "no_answer",
      message: `${shownUrl(url)} closes the connection without an answer: ${reason}`,
      fix: "Look into the log of the endpoint. If the port speaks TLS, begin the URL with https://.",
    };
  }
  const fix = codes.some((code) => code === "ENOTFOUND" || code === "EAI_AGAIN")
    ? "No such host name is known: correct it."
    : codes.some((code) => code.startsWith("HPE_"))
      ? "What answers there is no HTTP server, or it speaks TLS: correct the port, or begin the URL with https://."
      : "Start the endpoint, or correct host and port. If the port speaks TLS, begin the URL with https://.";
  return { code: "unreachable", message: `no connection to ${shownUrl(url)}: ${reason}`, fix };
}

/** Error codes of Node for a certificate that it does not trust. */
const UNTRUSTED = /CERT|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER/;

/** The codes of an error, of its causes, and of the errors of each address that was tried. */
export function errorCodes(error: unknown): readonly string[] {
  if (!(error instanceof Error)) return [];
  const { code } = error as { code?: unknown };
  const inner = error instanceof AggregateError ? (error.errors as unknown[]) : [];
  return [
    ...(typeof code === "string" ? [code] : []),
    ...[error.cause, ...inner].flatMap(errorCodes),
  ];
}

/** As many as curl's users and most libraries follow. */
const MAX_REDIRECTS = 10;

const MEANING: Readonly<Record<StatusResult, string>> = {
  acknowledged: "the gateway takes it for handled",
  retryable: "the gateway sends it again, and the next attempt ends the same way",
  final: "the gateway gives it up for good",
  unlisted: "its document does not say what the gateway does then",
};

/** The URL that an answer redirects to. Undefined if it does not redirect to one. */
function redirectTarget({ status, headers }: WireAnswer, base: URL): URL | undefined {
  const { location } = headers;
  const isRedirect = status >= 300 && status < 400 && location !== undefined;
  return isRedirect && URL.canParse(location, base.href) ? new URL(location, base) : undefined;
}

/**
 * Follows a redirect as Guzzle, Python's urllib, Node's fetch and `curl -L` do: after 301, 302 and 303 as a GET
 * without a body, which keeps the webhook headers; after 307 and 308 as the same POST. Resolves to what the delivery
 * is answered, in words. `mayLeave`: whether it may be sent to another machine.
 */
async function followRedirects(
  url: URL,
  first: WireAnswer,
  delivery: WireRequest,
  mayLeave: boolean,
  connection: SenderOptions,
): Promise<string> {
  let [at, answer, request] = [url, first, delivery];
  for (let followed = 0; followed < MAX_REDIRECTS; followed += 1) {
    const target = redirectTarget(answer, at);
    if (target === undefined) return describe(answer, request);
    const shown = printableLine(shownUrl(target));
    if (!/^https?:$/.test(target.protocol)) return `${shown} was not followed: it is no HTTP URL.`;
    if (!mayLeave && !isLoopback(target)) {
      return `${shown} was not followed, because it is another machine: add --yes to allow it.`;
    }
    if (answer.status < 307) request = { ...request, method: "GET", body: undefined };
    const sender = createSender(target, connection);
    try {
      [at, answer] = [target, await sender.send(request)];
    } catch (error) {
      return `A delivery that follows it gets no answer from ${shown}: ${sendFault(error)}.`;
    } finally {
      sender.close();
    }
  }
  return `It redirects more than ${MAX_REDIRECTS} times.`;
}

function describe(answer: WireAnswer, { method }: WireRequest): string {
  const answered = statusAndOutcome(answer);
  const result = resultOfStatus(answer.status);
  const isGet = method === "GET";
  const came = isGet ? " as a GET without a body" : "";
  const lost = isGet && result === "acknowledged" ? ", though it is lost" : "";
  return `A delivery that follows it arrives${came} and is answered ${answered}: ${MEANING[result]}${lost}.`;
}
