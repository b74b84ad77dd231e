import { execFileSync } from "node:child_process";
import path from "node:path";
import { expect, test } from "vitest";
import { REPOSITORY } from "../support/package/installed-package.js";
import { partnerProject } from "../support/package/partner-project.js";

const HANDLERS = `
import { DiscardDelivery, RetryLater } from "identity-gateway-webhooks";
export { RetryLater };
export function handle(_record, { id }) {
  throw id === "later" ? new RetryLater({ afterMs: 5_000 }) : new DiscardDelivery({ reason: "closed" });
}
`;

const APP = `
const { createWebhookReceiver, signDelivery, ...errors } = require("identity-gateway-webhooks");
const handlers = require("./handlers.mjs");
const secret = "whsec_test_0123456789abcdef";
const receiver = createWebhookReceiver({
  secret,
  logger: false,
  handlers: { unrecognized: handlers.handle },
});

async function send(id) {
  const timestamp = Math.floor(Date.now() / 1000);
  const body = "{}";
  const { status, headers } = await receiver.receive({
    headers: {
      "x-webhook-id": id,
      "x-webhook-type": "new_alarm",
      "x-webhook-timestamp": String(timestamp),
      "x-webhook-signature": await signDelivery({ secret, id, timestamp, body }),
    },
    body,
  });
  return { status, retryAfter: headers["retry-after"] };
}

(async () => {
  const isOneCopy = handlers.RetryLater === errors.RetryLater;
  const foreign = new handlers.RetryLater();
  const kinds = ["GatewayWebhookError", "RetryLater", "DiscardDelivery"].filter(
    (name) => foreign instanceof errors[name],
  );
  console.log(JSON.stringify([isOneCopy, kinds, await send("later"), await send("never")]));
})();
`;

const partner = partnerProject();

test("RetryLater and DiscardDelivery of a second copy of the package, as ncc bundles it, are answered 503 and 200", () => {
  partner().write("handlers.mjs", HANDLERS);
  partner().write("app.cjs", APP);
  const ncc = path.join(REPOSITORY, "node_modules/@vercel/ncc/dist/ncc/cli.js");
  execFileSync(process.execPath, [ncc, "build", "app.cjs", "--out", "bundle", "--quiet"], {
    cwd: partner().folder,
    stdio: "pipe",
  });
  expect(JSON.parse(partner().node(["bundle/index.cjs"]))).toEqual([
    false,
    ["GatewayWebhookError", "RetryLater"],
    { status: 503, retryAfter: "5" },
    { status: 200 },
  ]);
});
