import type { ErrorTable } from "./error-causes.js";

const CHECK = "npx identity-gateway-webhooks webhooks check --help";

/** Errors of the gateway's management routes. */
export const MANAGEMENT_ERRORS: ErrorTable = {
  ManagementError: {
    exportedBy: ["…/management"],
    where:
      "rejection of a call of the gateway's management routes ([management.md](management.md)); it holds no token and no secret",
    codes: {
      no_token: {
        meaning: "There was no token to call the gateway with.",
        causes: [
          "the token function threw, took too long or returned nothing: call it by itself",
          "the environment variable with the token is not set in this process",
        ],
      },
      unauthorized: {
        meaning: "The gateway answered 401, also with a renewed token.",
        causes: [
          "the token has expired or is of another installation of the gateway: log in again",
          "baseUrl is that of another gateway than the token",
        ],
      },
      forbidden: {
        meaning: "The gateway answered 403: the token is valid, and may not do this.",
        causes: [
          "webhooks are not enabled for this account: ask the gateway's operator",
          "the user of the token has no right to manage webhooks",
        ],
      },
      not_found: {
        meaning: "The gateway answered 404, or no webhook has the URL that was given.",
        causes: [
          "the URL is not written as it is registered, for example with a slash at its end",
          "the webhook was deleted, or its id is of another account: list the webhooks",
          "baseUrl has a path that the routes do not start with",
        ],
        command: CHECK,
      },
      conflict: {
        meaning: "The gateway answered 409, and does not throttle.",
        causes: ["a webhook of this type and URL exists: update it instead of creating another"],
        command: CHECK,
      },
      validation_failed: {
        meaning: "The gateway answered 400 or 422; details has its reasons by field.",
        causes: [
          "the URL is not https, or did not answer when the gateway tried it",
          "a field has a value that the gateway does not accept: see details",
        ],
      },
      throttled: {
        meaning: "The gateway throttles: 429, or 409 in its legacy format.",
        causes: ["too many calls in a short time: wait retryAfterMs, and run fewer checks"],
      },
      server_error: {
        meaning: "The gateway answered 5xx.",
        causes: ["the gateway has a fault or is under maintenance: try again later"],
      },
      unexpected_answer: {
        meaning: "The answer is not what the gateway documents.",
        causes: [
          "a proxy, a login page or another server answers at baseUrl: open it with curl",
          "the gateway has changed: compare with its document, and update this package",
        ],
      },
      incomplete_list: {
        meaning: "A list names a next page, and the gateway documents none.",
        causes: ["the account has many webhooks or attempts: give nextPage, which finds the page"],
      },
      network: {
        meaning: "No answer arrived.",
        causes: ["baseUrl is wrong, DNS does not know it, or a firewall keeps this machine out"],
      },
      timeout: {
        meaning: "No answer arrived in time.",
        causes: [
          "the gateway is slow, or a firewall drops the packets: raise timeoutMs to see which",
        ],
      },
      aborted: {
        meaning: "Your AbortSignal ended the call.",
        causes: ["the code that made the signal aborted it: the gateway may have taken the call"],
      },
      secret_required: {
        meaning: "The update has no secret, and the webhook has one that the update could remove.",
        causes: ["the gateway never shows a secret: pass the one that the webhook has"],
      },
      update_not_applied: {
        meaning: "The webhook, read again, is not as it was sent.",
        causes: [
          "the gateway ignored a field: details names each",
          "someone else changed the webhook at the same time: read it and update it again",
        ],
        command: CHECK,
      },
    },
  },
};
