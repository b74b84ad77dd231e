import http from "node:http";
import { buffer } from "node:stream/consumers";
import type { HeaderLine } from "../../../kit/sending/wire.js";
import { listenHttp } from "../servers.js";
import { BAD_GATEWAY, type EventForm, type FrontAnswer } from "./event-forms.js";

const TOO_LARGE: FrontAnswer = { status: 413, headers: {}, body: "" };

/** An HTTP server in front of a function: it makes an event of each request. */
export async function startFront(form: EventForm, invoke: (event: object) => Promise<unknown>) {
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
  const { url, close } = await listenHttp(http.createServer((req, res) => void serve(req, res)));
  return { url: `${url}/webhooks/gateway`, close };
}
