import { overriding, type Flaws, type Judged } from "./flaw.js";
import type { Answer } from "./right-receiver.js";

const PAGE: Answer = [200, "<!doctype html><h1>Back soon</h1>", { "content-type": "text/html" }];
const OK: Answer = [200, "ok"];
const HANDLED: Answer = [200, '{"outcome":"handled"}', { "content-type": "application/json" }];

/** Each has something in front that answers 2xx in its place. Nothing counts what was handled: the answer convicts it. */
export const frontFlaws: Flaws = {
  hostile_text: {
    "stands behind a firewall that blocks javascript: by a page with 200": behind(PAGE, isAttack),
    "names its outcome behind a firewall that blocks javascript: by ok": behind(OK, isAttack, true),
    "names its outcome behind a firewall that blocks javascript: by a page": behind(
      PAGE,
      isAttack,
      true,
    ),
  },
  unknown_headers: {
    "stands behind a filter of robots that answers them a page with 200": behind(PAGE, isRobot),
    "names its outcome behind a filter of robots that answers them ok": behind(OK, isRobot, true),
  },
  big_alarm: {
    "stands behind a proxy that answers a page with 200 to 100 kB": behind(PAGE, isBig),
    "names its outcome behind a proxy that answers ok to 100 kB": behind(OK, isBig, true),
  },
};

type Request = { readonly headers: Readonly<Record<string, unknown>>; readonly body: Buffer };

function behind(answer: Answer, isStopped: (request: Request) => boolean, names = false): Judged {
  const make = overriding((right) => ({
    receive: (req, body) =>
      isStopped({ headers: req.headers, body }) ? answer : right.receive(req, body),
    ...(names ? { done: () => HANDLED, duplicate: () => HANDLED } : {}),
  }));
  return [make, { handled: undefined }];
}

function isAttack({ body }: Request): boolean {
  return body.includes("javascript:");
}

function isRobot({ headers }: Request): boolean {
  return String(headers["user-agent"]).startsWith("Mozilla");
}

function isBig({ body }: Request): boolean {
  return body.length > 100_000;
}
