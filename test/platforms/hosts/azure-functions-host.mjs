// What the Functions host and its Node worker do with a function of @azure/functions: the worker gives that
// package its half as "@azure/functions-core", and the host sends whole requests and takes whole responses.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import Module from "node:module";

let model;
let registered;
const core = {
  version: "3.0.0",
  hostVersion: "4.1000.0",
  log: () => undefined,
  setProgrammingModel: (given) => (model = given),
  registerFunction: (metadata, callback) => (registered = { metadata, callback }),
};
const load = Module._load;
Module._load = (name, ...rest) => (name === "@azure/functions-core" ? core : load(name, ...rest));

await import("./app.mjs");
await model.getCapabilities({});
const { metadata, callback } = registered;
const [[triggerName, { methods }]] = Object.entries(metadata.bindings);

/** The response of one invocation, as it is sent to the host. */
async function invoke(req, bytes) {
  const headers = Object.fromEntries(
    Object.entries(req.headersDistinct).map(([name, values]) => [name, values.join(", ")]),
  );
  const url = `http://127.0.0.1${req.url}`;
  const data = { http: { method: req.method, url, headers, body: { bytes } } };
  const request = { inputData: [{ name: triggerName, data }], triggerMetadata: {} };
  const invocation = { invocationId: randomUUID(), metadata, request, log: () => undefined };
  const invocationModel = model.getInvocationModel(invocation);
  const { context, inputs } = await invocationModel.getArguments();
  const result = await invocationModel.invokeFunction(context, inputs, callback);
  return (await invocationModel.getResponse(context, result)).returnValue.http;
}

createServer(async (req, res) => {
  const chunks = [];
  try {
    for await (const chunk of req) chunks.push(chunk);
  } catch {
    return;
  }
  if (!methods.includes(req.method)) {
    res.writeHead(404).end();
    return;
  }
  try {
    const { statusCode, headers, body } = await invoke(req, Buffer.concat(chunks));
    res.writeHead(Number(statusCode), headers).end(body.bytes);
  } catch (error) {
    console.error(error);
    res.writeHead(500).end();
  }
}).listen(process.env.PORT);
