import { randomUUID } from "node:crypto";
import { OUTCOMES } from "../../src/answer/outcome.js";
import { headerOf, type WireRequest } from "../sending/wire.js";
import type { CaseContext } from "./case-context.js";
import type { ConformanceRules } from "./conformance-rule.js";
import { sendRawRequest } from "./connections.js";
import { refusedRequests } from "./forgeries.js";
import { whileHandler } from "./handler-switches.js";
import {
  driftedClock,
  markedText,
  OTHER_SECRET,
  SIGNATURE,
  wrongSecret,
  type Named,
  type NamedDeliveries,
} from "./test-deliveries.js";

const NOT_REACHABLE =
  "The gateway creates a webhook only if its URL is reachable, and may look with GET or HEAD: answer them 200. In Express and Hono mount by app.all, not by app.post.";

/** An unauthenticated request must get no server error and no data. Other methods are refused. */
export const answerRules: ConformanceRules = {
  no_server_errors: {
    level: "should",
    title: "no unauthenticated request gets a 5xx",
    why: "Anyone who finds the URL can set off your alerting, until no one looks when a genuine alarm fails.",
    fix: "Answer 409 to a request that cannot be verified: the server is not at fault.",
    cause: "fix",
    async check(context) {
      await context.inGroups(await refusedRequests(context.deliver), async ([name, request]) => {
        const answer = await context.send(request);
        if (answer.wire !== undefined && answer.wire.status >= 500) {
          throw context.unexpected(name, "less than 500", answer);
        }
        context.expect(answer.wire !== undefined, name, "an answer", answer);
      });
    },
  },
  other_methods: {
    level: "should",
    title: "a delivery with a method other than POST is refused",
    why: "The gateway sends only POST. Any other method is a scanner or a mistake.",
    fix: "Answer 405 to other methods, and 200 without a body to GET and HEAD.",
    cause: "fix",
    async whenAccepted(context) {
      await context.inGroups(["GET", "HEAD"], async (method) => {
        const request = { method, headers: [], body: undefined };
        const answer = await context.sendPastLimiter(request);
        const { result, wire } = answer;
        context.expect(wire !== undefined, method, "an answer", answer);
        // No failure: the gateway's document does not say how it looks whether the URL is reachable.
        if (result !== "acknowledged")
          context.note(`${method} was answered ${String(wire?.status)}. ${NOT_REACHABLE}`);
      });
      await context.inGroups(["PUT", "PATCH", "DELETE"], async (method) => {
        const delivery = await context.deliver();
        await context.refuse(method, delivery.with({ method }));
      });
      await context.expectStillAccepts("other methods");
    },
  },
  redirected_delivery: {
    level: "should",
    title: "a GET with the headers of a delivery is not acknowledged",
    why: "A redirect in front (to https, to www, to a path with a slash) makes many senders repeat a POST as a GET without body. Answered 200, every delivery is lost without a trace.",
    fix: "Answer 409 to a GET or HEAD with X-Webhook-Id, X-Webhook-Timestamp or X-Webhook-Signature, and log it. Answer 200 only to one without them.",
    cause: "early",
    async whenAccepted(context) {
      const { outcome = "" } = await context.sendGenuine(await context.deliver());
      // A receiver of this library knows the difference.
      if (Object.hasOwn(OUTCOMES, outcome)) context.description.level = "must";
      await context.inGroups(["GET", "HEAD"], async (method) => {
        const delivery = await context.deliver();
        const name = `${method} with the headers of a delivery`;
        const answer = await context.refuse(name, delivery.bodyless(method));
        if (answer.result === "final") context.note(`${name} was answered ${answer.text}`);
      });
    },
  },
  no_echo: {
    level: "should",
    title:
      "an answer repeats nothing of the request, and shows no stack trace or error of a database",
    why: "Alarms contain national ids, e-mail addresses and IBANs. Proxies log answers, and the gateway keeps them. Paths, tables and hosts help an attacker.",
    fix: "Answer a fixed text for each outcome, without a parser message or a stack trace.",
    runsAlone: true,
    async check(context) {
      const { deliver } = context;
      // Short, since parsers quote only the beginning of what they cannot read.
      const marker = `m${randomUUID().slice(-12)}`;
      const body = markedText(context.settings.types, marker);
      const odd = await deliver({ body });
      const genuine = await deliver({ body });
      const requests: NamedDeliveries = [
        ["a genuine delivery", genuine],
        ["a forged delivery", await deliver({ body, secret: OTHER_SECRET })],
        ["a delivery without a signature", (await deliver({ body })).withHeader(SIGNATURE)],
        ["a genuine delivery that is not JSON", await deliver({ body: marker })],
        ["a genuine delivery without an alarm", await deliver({ body: `{"alarm":["${marker}"]}` })],
        ["a signature header with a marker", odd.withHeader(SIGNATURE, `v1=${marker}`)],
      ];
      const look = async (
        [name, request]: Named<WireRequest>,
        send = () => context.send(request),
        hidden = marker,
      ): Promise<void> => {
        const answer = await send();
        const { wire } = answer;
        if (wire === undefined) throw context.unexpected(name, "an answer", answer);
        const said = [wire.body, ...Object.values(wire.headers)].join("\n");
        const signature = headerOf(request.headers, SIGNATURE)?.slice("v1=".length) ?? "";
        const repeated = [marker, hidden, signature].some(
          (part) => part !== "" && said.includes(part),
        );
        if (repeated) {
          throw context.failure("echo", `${name}: the answer repeats part of the request`);
        }
        const shown = INSIDE.exec(said)?.[0];
        if (shown !== undefined) {
          throw context.failure(
            "leak",
            `${name}: the answer shows what went wrong inside: ${shown}`,
          );
        }
      };
      await context.inGroups(requests, (one) => look(one));
      await look(["a duplicate of a genuine delivery", genuine]);
      const get = { method: "GET", headers: [], body: undefined };
      await look(["GET, after a genuine delivery", get], () => context.send(get), genuine.id);
      if (context.settings.url !== undefined) {
        const asked = new URL(context.settings.url);
        for (const name of ["challenge", "hub.challenge"]) asked.searchParams.set(name, marker);
        const ask = () => context.sendBy(get, () => sendRawRequest(asked, context.settings, get));
        await look(["GET with a challenge", get], ask);
      }
      if (context.settings.whileFailing === undefined) return;
      // Debug pages show the whole request only then.
      const failing = await deliver({ body });
      await whileHandler(context, "whileFailing", () =>
        look(["a delivery whose handler fails", failing]),
      );
    },
  },
  leaked_secret: {
    title: "no answer contains the secret, as it is, in base64 or in hexadecimal",
    why: "Anyone who reads it can sign any alarm. Error pages and settings pages show it, and proxies log answers.",
    fix: "Never put settings or an error's details into an answer, and switch off the framework's debug pages. Then change the secret.",
    cause: "leak",
    // So that it comes after the cases with a failing handler, whose answers show most.
    runsAlone: true,
    async check(context) {
      if (context.suite.secretWatch.isBlind) context.leaveUnjudged("longer_secret");
      failOnLeak(context);
      await context.ensureAcceptsGenuine();
      await context.inGroups(await requestsOfAllKinds(context), async (request) => {
        await context.sendPastLimiter(request);
        failOnLeak(context);
      });
      if (context.settings.whileFailing === undefined) return;
      const delivery = await context.deliver();
      await whileHandler(context, "whileFailing", () => context.send(delivery));
      failOnLeak(context);
    },
  },
};

/** A line of source code in a stack trace, or how an engine or the network words its errors. */
const INSIDE =
  /\.(?:[cm]?[jt]sx?|py|rb|php|java|kt|go|cs|exs?|rs)(?:", line |:line |:|\()\d+|node_modules|\bE(?:CONN\w+|NOTFOUND|TIMEDOUT|NOENT)\b|SQLITE_\w+|SQLSTATE|\bER_[A-Z_]+|\bORA-\d{5}|violates [\w-]+ constraint|relation "[^"]+" does not exist|no such table|\b(?:postgres(?:ql)?|mysql|mariadb|mongodb(?:\+srv)?|rediss?|amqps?|nats):\/\//;

function failOnLeak(context: CaseContext): void {
  const leak = context.suite.secretWatch.take();
  if (leak === undefined) return;
  const { caseId, exchange } = leak;
  if (!context.exchanges.includes(exchange)) context.exchanges.push(exchange);
  const message = `the answer to a ${exchange.sent.method} of the case ${caseId} contains the secret`;
  throw context.failure("leak", message);
}

/** Requests that a receiver answers at different steps. */
async function requestsOfAllKinds({
  deliver,
  settings: { maxBodyBytes },
}: CaseContext): Promise<readonly WireRequest[]> {
  const delivery = await deliver();
  const [, forged] = await wrongSecret(deliver);
  const named = [...(await refusedRequests(deliver)), ...(await driftedClock(deliver))];
  return [
    ...["GET", "HEAD"].map((method) => delivery.bodyless(method)),
    ...["OPTIONS", "PUT", "DELETE"].map((method) => forged.with({ method })),
    delivery,
    delivery,
    ...named.map(([, request]) => request),
    forged.withBody(new Uint8Array(2 * maxBodyBytes)),
    ...(await Promise.all(["{", "null", '{"alarm":null}'].map((body) => deliver({ body })))),
  ];
}
