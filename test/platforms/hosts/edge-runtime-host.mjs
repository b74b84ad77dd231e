import { EdgeRuntime, runServer } from "edge-runtime";
import { readFileSync } from "node:fs";

const { GATEWAY_WEBHOOK_SECRET, LEDGER_URL, PORT } = process.env;
const runtime = new EdgeRuntime({
  initialCode: readFileSync("build/webhook.js", "utf8"),
  extend: (context) =>
    Object.assign(context, { process: { env: { GATEWAY_WEBHOOK_SECRET, LEDGER_URL } } }),
});
await runServer({ runtime, port: Number(PORT), host: "127.0.0.1" });
