import { Webhooks } from "@octokit/webhooks";
import type { Answer } from "../delivery.js";

/** Rejects if the signature is bad. */
export const answer: Answer = async ({ secret, headers, body }) => {
  let isHandled = false;
  const webhooks = new Webhooks({ secret });
  webhooks.on("ping", () => {
    isHandled = true;
  });
  const id = headers["x-github-delivery"] ?? "";
  const signature = headers["x-hub-signature-256"] ?? "";
  await webhooks.verifyAndReceive({ id, name: "ping", payload: body, signature });
  return isHandled;
};
