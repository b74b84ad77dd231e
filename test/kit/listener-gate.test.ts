import http from "node:http";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { refusalOf, routeOf, type GateRequest } from "../../kit/listener/gate.js";
import { startListener } from "../../kit/listener/start-listener.js";
import { TEST_SECRET } from "../support/deliveries.js";

const PORT = 4040;
const TOKEN = "0123456789abcdef0123456789abcdef";
const OWN = `127.0.0.1:${String(PORT)}`;
const NAMED = `localhost:${String(PORT)}`;
const TOKENED = [`Bearer ${TOKEN}`];
const LIST = { method: "GET", target: "/deliveries" };
const SEND = { method: "POST", target: "/send" };
const PAGE = { method: "GET", target: "/" };

type Headers = GateRequest["headers"];
const JSON_TYPE = { "content-type": ["application/json"] };
const good: Headers = { host: [OWN], authorization: TOKENED, ...JSON_TYPE };

/** As the API of a listener has them one after the other. */
function gate(request: GateRequest) {
  return refusalOf(request, [OWN, NAMED]) ?? routeOf(request, TOKEN);
}

test.each<[string, Pick<GateRequest, "method" | "target">, Headers, string | number]>([
  ["the page without a token", PAGE, { host: [OWN] }, "page"],
  ["the page with our Origin", PAGE, { host: [OWN], origin: [`http://${OWN}`] }, "page"],
  ["the list with the token", LIST, good, "deliveries"],
  [
    "the list with a query",
    { ...LIST, target: "/deliveries?after=3&wait=30s" },
    good,
    "deliveries",
  ],
  ["an encoded query", { ...LIST, target: "/deliveries?id=%2F..%2F" }, good, "deliveries"],
  ["sending with the token", SEND, good, "send"],
  ["our Origin and the token", SEND, { ...good, origin: [`http://${OWN}`] }, "send"],
  ["both by the name", SEND, { ...good, host: [NAMED], origin: [`http://${NAMED}`] }, "send"],
  // The name: what DNS rebinding and proxies change.
  ["no Host", LIST, { authorization: TOKENED }, 403],
  ["two Hosts", LIST, { ...good, host: [OWN, OWN] }, 403],
  ["a foreign Host for the page", PAGE, { host: ["evil.example"] }, 403],
  // Who asks.
  ["a foreign Origin", SEND, { ...good, origin: ["https://evil.example"] }, 403],
  ["a foreign Origin for the page", PAGE, { host: [OWN], origin: ["https://evil.example"] }, 403],
  ["an empty Origin", SEND, { ...good, origin: [""] }, 403],
  ["the other of our names as Origin", SEND, { ...good, origin: [`http://${NAMED}`] }, 403],
  ["two Origins", SEND, { ...good, origin: [`http://${OWN}`, "https://evil.example"] }, 403],
  ["an asterisk", { method: "OPTIONS", target: "*" }, good, 400],
  // The token.
  ["no token", LIST, { host: [OWN] }, 401],
  ["our Origin in place of the token", LIST, { host: [OWN], origin: [`http://${OWN}`] }, 401],
  ["the token in a cookie", LIST, { host: [OWN], cookie: [TOKEN] }, 401],
  [
    "the token in the query",
    { ...LIST, target: `/deliveries?token=${TOKEN}` },
    { host: [OWN] },
    401,
  ],
  ["another token", LIST, { ...good, authorization: [`Bearer ${TOKEN.replace("0", "1")}`] }, 401],
  ["a part of it", LIST, { ...good, authorization: [`Bearer ${TOKEN.slice(0, 31)}`] }, 401],
  ["more than it", LIST, { ...good, authorization: [`Bearer ${TOKEN}0`] }, 401],
  ["two tokens", LIST, { ...good, authorization: [...TOKENED, ...TOKENED] }, 401],
  ["the token as a password", LIST, { ...good, authorization: [`Basic ${TOKEN}`] }, 401],
  ["a preflight", { method: "OPTIONS", target: "/send" }, { host: [OWN] }, 401],
  ["the page with a query", { ...PAGE, target: "/?a" }, { host: [OWN] }, 401],
  ["HEAD of the page", { method: "HEAD", target: "/" }, { host: [OWN] }, 401],
  ["a path that does not exist", { ...LIST, target: "/secret" }, { host: [OWN] }, 401],
  // With the token.
  ["a path that does not exist, with the token", { ...LIST, target: "/secret" }, good, 404],
  // What a form or a page can send without asking first.
  ["a form", SEND, { ...good, "content-type": ["application/x-www-form-urlencoded"] }, 415],
  ["text", SEND, { ...good, "content-type": ["text/plain; application/json"] }, 415],
  ["no type", SEND, { ...good, "content-type": undefined }, 415],
  ["JSON in UTF-8", SEND, { ...good, "content-type": ["application/json; charset=utf-8"] }, "send"],
  ["4 MiB", SEND, { ...good, "content-length": ["4194304"] }, "send"],
  ["more", SEND, { ...good, "content-length": ["4194305"] }, 413],
  ["POST to the list", { method: "POST", target: "/deliveries" }, good, 405],
  ["a method in small letters", { method: "post", target: "/send" }, good, 405],
])("the gate and %s", (_what, request, headers, expected) => {
  const passage = gate({ ...request, headers });
  expect("route" in passage ? passage.route : passage.status).toBe(expected);
});

test.each([
  "",
  `evil.example:${String(PORT)}`,
  `${OWN}.evil.example`,
  "LOCALHOST:4040",
  "127.0.0.1:4041",
  "127.0.0.1",
  `${OWN} `,
])("the gate refuses the Host %j", (host) => {
  const passage = gate({ ...LIST, headers: { ...good, host: [host] } });
  expect(passage).toMatchObject({ status: 403 });
});

test.each<[host: string, origin: string | undefined, isAllowed: boolean]>([
  ["gateway", undefined, true],
  ["gateway:4010", "http://gateway:4010", true],
  ["dev.example", "https://dev.example", true],
  ["localhost:5000", undefined, true],
  ["localhost:5001", undefined, false],
  ["gateway:4010", "http://gateway:80", false],
  ["gateway:4010", "http://dev.example", false],
  ["gateway.evil.example", undefined, false],
  ["evil.example:gateway", undefined, false],
])(
  "with names of its own, the gate and the Host %s with the Origin %s",
  (host, origin, isAllowed) => {
    const headers = { host: [host], ...(origin !== undefined && { origin: [origin] }) };
    const refusal = refusalOf({ ...LIST, headers }, ["gateway", "dev.example", "localhost:5000"]);
    expect(refusal?.status).toBe(isAllowed ? undefined : 403);
  },
);

// One spelling for each path.
test.each([
  "/%73end",
  "//deliveries",
  `http://${OWN}/deliveries`,
  "/x/../deliveries",
  "/\\deliveries",
  "/deliv\teries",
  "/deliveries#",
  "/Deliveries",
  "@evil.example/deliveries",
])("the gate refuses the path %j", (target) => {
  expect(gate({ ...LIST, target, headers: good })).toMatchObject({ status: 400 });
});

test("nothing but the page passes without the token, and nothing under another name", () => {
  const text = fc.oneof(fc.constantFrom("/", "/send", "/deliveries", OWN, NAMED, ""), fc.string());
  const headers = fc.record({
    host: fc.array(text, { maxLength: 2 }),
    origin: fc.array(
      text.map((name) => `http://${name}`),
      { maxLength: 2 },
    ),
    authorization: fc.array(fc.oneof(text, fc.constant(`Bearer ${TOKEN}`)), { maxLength: 2 }),
  });
  const method = fc.constantFrom("GET", "POST", "HEAD", "OPTIONS", "PUT");
  fc.assert(
    fc.property(method, text, headers, (verb, target, given) => {
      const passage = gate({ method: verb, target, headers: given });
      if (!("route" in passage)) return;
      expect([OWN, NAMED]).toContain(given.host.join());
      expect([`http://${given.host.join()}`, ""]).toContain(given.origin.join());
      expect(passage.route === "page" ? target : given.authorization.join()).toBe(
        passage.route === "page" ? "/" : `Bearer ${TOKEN}`,
      );
    }),
    { numRuns: 2_000 },
  );
});

test("every answer of the server forbids frames, types by guess, caches and other sites", async () => {
  const listener = await startListener({ secret: TEST_SECRET });
  onTestFinished(listener.close);
  const { url, token } = listener.api;
  const authorization = `Bearer ${token}`;
  const raw = (target: string, headers: http.OutgoingHttpHeaders) =>
    new Promise<http.IncomingMessage>((resolve, reject) => {
      const { port } = new URL(url);
      const options = { host: "127.0.0.1", port, path: target, headers };
      http.get(options, resolve).on("error", reject).end();
    });
  const answers = [
    await raw("/deliveries", { authorization }),
    await raw("/deliveries", { authorization, host: "evil.example" }),
    await raw("/deliveries", { authorization, origin: "https://evil.example" }),
    await raw("/%64eliveries", { authorization }),
    await raw("/deliveries", {}),
    await raw("/", {}),
    await raw("/x", { authorization }),
  ];
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 403, 403, 400, 401, 404, 404]);
  for (const answer of answers) {
    answer.resume();
    expect(answer.headers).toMatchObject({
      "cache-control": "no-store",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
      "x-content-type-options": "nosniff",
    });
    const cors = Object.keys(answer.headers).filter((name) => name.startsWith("access-control"));
    expect(cors).toEqual([]);
  }
});
