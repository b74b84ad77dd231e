import http from "node:http";
import { buffer } from "node:stream/consumers";
import type { HeaderLine } from "../../../kit/sending/wire.js";
import { listen, type RunningServer } from "../servers.js";
import type { EventForm, FrontAnswer } from "./event-forms.js";

/** What API Gateway, a function URL and a load balancer answer when an invocation fails. */
const BAD_GATEWAY: FrontAnswer = { status: 502, headers: {}, body: "" };
const TOO_LARGE: FrontAnswer = { status: 413, headers: {}, body: "" };

/** An HTTP server in front of a function: it makes an event of each request. */
export async function startFront(
  form: EventForm,
  invoke: (event: object) => Promise<unknown>,
): Promise<RunningServer & { readonly url: string }> {
  const answerTo = async (req: http.IncomingMessage): Promise<FrontAnswer> => {
    const body = await buffer(req);
    if (body.length > (form.maxBodyBytes ?? Infinity)) return TOO_LARGE;
    const headers = req.rawHeaders.flatMap((name, at): HeaderLine[] =>
      at % 2 === 0 ? [[name, req.rawHeaders[at + 1] ?? ""]] : [],
    );
    try {
      return form.answerOf(
        await invoke(form.eventOf({ method: String(req.method), headers, body })),
      );
    } catch {
      return BAD_GATEWAY;
    }
  };
  const serve = async (req: http.IncomingMessage, res: http.ServerResponse) => {
    try {
      const { status, headers, body } = await answerTo(req);
      res.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) }).end(body);
    } catch {
      // An upload that is cut never reaches the function.
      res.destroy();
    }
  };
  const server = http.createServer((req, res) => void serve(req, res));
  const running = await listen(server);
  return {
    ...running,
    url: `http://127.0.0.1:${running.port}/webhooks/gateway`,
    close() {
      server.closeAllConnections();
      return running.close();
    },
  };
}
