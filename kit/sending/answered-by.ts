import { OUTCOMES, resultOfStatus } from "../../src/answer/outcome.js";
import { outcomeOf, type WireAnswer } from "./wire.js";

/**
 * Who gave a 2xx, as far as the answer shows it. May gain members in a minor version.
 *
 * - `receiver`: the answer names an outcome of this library, and one that is answered 2xx.
 * - `page`: it is an HTML page, such as a proxy shows during maintenance or a firewall when it blocks a request.
 * - `unknown`: neither. A receiver in another language may have answered, or something in front of it.
 *
 * @experimental
 */
export type AnsweredBy = "receiver" | "page" | "unknown";

/** Who gave an answer. Undefined for any other status than a 2xx, which loses nothing without a trace. */
export function answeredBy({
  status,
  headers,
  body,
}: Pick<WireAnswer, "status" | "headers" | "body">): AnsweredBy | undefined {
  if (resultOfStatus(status) !== "acknowledged") return undefined;
  const outcome = outcomeOf(body);
  const rule = Object.entries(OUTCOMES).find(([name]) => name === outcome)?.[1];
  if (rule !== undefined && resultOfStatus(rule.status) === "acknowledged") return "receiver";
  // Express, Flask and PHP send `ok` as text/html. White space includes a byte order mark.
  const isPage = /^text\/html\b/i.test(headers["content-type"] ?? "") && /^\s*</.test(body);
  return isPage ? "page" : "unknown";
}

/** What an answer says of itself, without the fields that it does not have. */
export function answeredFields(answer: Pick<WireAnswer, "status" | "headers" | "body">) {
  const outcome = outcomeOf(answer.body);
  const by = answeredBy(answer);
  return {
    status: answer.status,
    ...(outcome === undefined ? {} : { outcome }),
    ...(by === undefined ? {} : { answeredBy: by }),
  };
}

/** What to say of the 2xx that someone gave, after the status. Empty for the receiver's own. */
export function byWhom(by: AnsweredBy | undefined): string {
  if (by === "page") return ", by a page and not by a receiver";
  return by === "unknown" ? ", by whom is not known" : "";
}
