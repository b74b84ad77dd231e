import { serverRow } from "../server-row.js";

const FRAMEWORK = "@google-cloud/functions-framework";

/** A function in the framework that Google Cloud runs it in. */
export const rows = [
  serverRow({
    name: "Google Cloud Functions",
    folder: "cloud-functions",
    versionOf: FRAMEWORK,
    remark: "with `NODE_ENV=production`, or its 400 repeats a part of the body",
    ownAnswers: {
      content_types: "415 to a charset that its parser does not know",
      invalid_utf8: "400 to a body that is not JSON",
      unreadable_body: "400 to a body that is not JSON",
    },
    args: () => [
      `node_modules/${FRAMEWORK}/build/src/main.js`,
      "--source=app.mjs",
      "--target=gatewayWebhook",
    ],
    env: () => ({ NODE_ENV: "production" }),
  }),
];
