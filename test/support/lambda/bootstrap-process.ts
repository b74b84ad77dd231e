// What Lambda runs in an instance: asks the Runtime API for an invocation, calls the function, and answers.
// Started with the file of the bundled function, which exports `handler`.
import http from "node:http";
import { createRequire } from "node:module";
import { text } from "node:stream/consumers";

const [file = ""] = process.argv.slice(2);
const api = `http://${String(process.env["AWS_LAMBDA_RUNTIME_API"])}/2018-06-01/runtime`;
const agent = new http.Agent({ keepAlive: true });

interface Reply {
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

function call(method: string, path: string, body?: string): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const length = Buffer.byteLength(body ?? "");
    const options = { agent, method, headers: { "content-length": length } };
    const req = http.request(`${api}${path}`, options, (res) => {
      text(res).then((read) => resolve({ headers: res.headers, body: read }), reject);
    });
    req.on("error", reject).end(body);
  });
}

type Handler = (event: unknown, context: object) => Promise<unknown>;

async function serve(handler: Handler): Promise<void> {
  for (;;) {
    const { headers, body } = await call("GET", "/invocation/next");
    const awsRequestId = String(headers["lambda-runtime-aws-request-id"]);
    const endsAt = Number(headers["lambda-runtime-deadline-ms"]);
    const context = {
      awsRequestId,
      callbackWaitsForEmptyEventLoop: true,
      getRemainingTimeInMillis: () => endsAt - Date.now(),
    };
    try {
      const result = await handler(JSON.parse(body), context);
      await call("POST", `/invocation/${awsRequestId}/response`, JSON.stringify(result));
    } catch (error) {
      const { name, message } = error as Error;
      const failure = JSON.stringify({ errorType: name, errorMessage: message });
      await call("POST", `/invocation/${awsRequestId}/error`, failure);
    }
  }
}

const { handler } = createRequire(file)(file) as { readonly handler: Handler };
void serve(handler);
