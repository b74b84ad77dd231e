import { createHandler, EdgeRuntime } from "edge-runtime";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const { GATEWAY_WEBHOOK_SECRET, LEDGER_URL, PORT } = process.env;
const runtime = new EdgeRuntime({
  initialCode: readFileSync("build/webhook.js", "utf8"),
  extend: (context) =>
    Object.assign(context, { process: { env: { GATEWAY_WEBHOOK_SECRET, LEDGER_URL } } }),
});
const { handler } = createHandler({ runtime });
createServer((req, res) => {
  // Its own server would end the process.
  if (URL.canParse(req.url, "http://127.0.0.1")) void handler(req, res);
  else res.writeHead(400).end();
}).listen(Number(PORT), "127.0.0.1");
