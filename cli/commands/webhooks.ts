import { check } from "../webhooks/check.js";
import { createCommandGroup } from "../webhooks/command-group.js";
import { history } from "../webhooks/history.js";
import { reconcile } from "../webhooks/reconcile.js";
import { register } from "../webhooks/register.js";
import { rotate } from "../webhooks/rotate.js";

/** The other half of a webhook: its registration at the gateway. */
export const webhooks = createCommandGroup({
  name: "webhooks",
  summary: "registers, checks, rotates and reconciles webhooks at the gateway",
  about: [
    "The gateway's address and a CRM token are in GATEWAY_BASE_URL and GATEWAY_CRM_TOKEN, or in the options --base-url, --token-file and --login-file.",
  ],
  example: "webhooks check https://partner.example/webhooks --secret-file secret.txt",
  commands: [register, check, rotate, history, reconcile],
});
