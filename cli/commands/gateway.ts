import { setImmediate } from "node:timers/promises";
import { serveApi } from "../../kit/gateway-api/api-server.js";
import { createGatewayApi, type GatewayApi } from "../../kit/gateway-api/gateway-api.js";
import { sampleAlarm } from "../../kit/samples/sample-alarm.js";
import { sampleOnlineDataEvent } from "../../kit/samples/sample-online-data-event.js";
import { createScaledClock } from "../../kit/twin/scaled-clock.js";
import type { TwinDelivery } from "../../kit/twin/twin-delivery.js";
import type { TwinEvent } from "../../kit/twin/twin-event.js";
import { createCommand } from "../command.js";
import { aborted, EXIT, UsageError } from "../exit.js";
import type { CommandIo } from "../terminal/command-io.js";
import { printableLine, writeEvent } from "../terminal/printable.js";
import {
  ACCOUNT_OPTION,
  accountIdsOf,
  HOST_OPTION,
  HOSTS_OPTION,
} from "../options/shared-options.js";
import { flag, text, whole } from "../options/option-specs.js";

/** The gateway's webhook routes on this machine. */
export const gateway = createCommand({
  name: "gateway",
  summary: "a local gateway: its webhook routes, its login, and its deliveries",
  usage: "",
  positionals: { min: 0, max: 0 },
  about: [
    "Answers the gateway's seven webhook routes and the CRM login in both formats, and delivers to the webhooks that you create, with the gateway's retries. Any login is accepted. For your own tests; nothing is kept.",
    'POST /desk/deliveries delivers an event to the active webhooks: { alarm } or { event }, or a sample for { "type": "new_alarm" }. It needs no token.',
    "It runs until Ctrl-C (exit code 130).",
  ],
  options: {
    port: whole("<port>", { min: 0, max: 65_535, fallback: 4_010 }, "0 takes any free port."),
    host: HOST_OPTION,
    "allow-host": HOSTS_OPTION,
    speed: whole(
      "<factor>",
      { min: 1, max: 1_000_000, fallback: 1 },
      "How many times faster than the gateway it retries.",
    ),
    "put-drops-secret": flag("A PUT without the secret removes the secret."),
    "legacy-throttling": flag("Throttling is answered 409 in both formats."),
    "history-off": flag("No attempt is stored."),
    "webhooks-off": flag("Webhooks are not enabled for the client: 403."),
    "url-check": text("<method>", "How a URL is checked when a webhook is created. Default GET.", [
      "GET",
      "HEAD",
      "none",
    ]),
    "account-id": ACCOUNT_OPTION,
    json: flag('Writes JSON lines: { "event": "listening" | "delivery", … }.'),
  },
  examples: {
    "On port 4010, an hour of retries in a second": "gateway --speed 3600",
    "Then, in another terminal":
      "webhooks register http://127.0.0.1:3000/webhooks --secret-file s.txt",
  },
  async run(io, values) {
    const { port, host = "127.0.0.1", speed, json } = values;
    const allowHosts = values["allow-host"];
    const urlCheck = values["url-check"] ?? "GET";
    const accountIds = accountIdsOf(values["account-id"]);
    const api = createGatewayApi({
      clock: createScaledClock(speed),
      putDropsSecret: values["put-drops-secret"],
      legacyThrottling: values["legacy-throttling"],
      history: !values["history-off"],
      webhooksEnabled: !values["webhooks-off"],
      urlCheck: urlCheck === "none" ? false : (urlCheck as "GET" | "HEAD"),
      onDelivery: (delivery) => describe(io, delivery, json),
    });
    const answer = (url: string, init: RequestInit): Promise<Response> =>
      new URL(url).pathname === "/desk/deliveries"
        ? deliver(api, init, accountIds)
        : api.fetch(url, init);
    const server = await serveApi(answer, { port, host, allowHosts }).catch((error: unknown) => {
      const { code } = Object(error) as { code?: unknown };
      throw new UsageError(`port ${port} of ${host} is not available: ${String(code)}`);
    });
    const line = io.out.style("bold", `the gateway is at ${server.url}`);
    const help = `  export GATEWAY_BASE_URL=${server.url}`;
    writeEvent(io.out, json, { event: "listening", url: server.url }, `${line}\n${help}`);
    await aborted(io.signal);
    await Promise.all([server.close(), api.close()]);
    return EXIT.passed;
  },
});

function describe({ out }: CommandIo, delivery: TwinDelivery, json: boolean): void {
  const { id, type, webhook, end, attempts, reason } = delivery;
  const format = end === "acknowledged" ? "green" : "red";
  const head = `${out.style(format, end.padEnd(12))} ${type} ${id}`;
  const line = `${head}\n${" ".repeat(13)}webhook ${webhook}: ${printableLine(reason)}`;
  const event = { event: "delivery", id, type, webhook, end, attempts: attempts.length };
  writeEvent(out, json, event, line);
}

/** Starts a delivery and does not wait for its end, which may be hours away. */
async function deliver(api: GatewayApi, init: RequestInit, accountIds: readonly number[]) {
  const refused = (message: string): Response =>
    Response.json({ error: { code: "VALIDATION_ERROR", message, details: [] } }, { status: 422 });
  if (init.method !== "POST") return refused("POST { alarm }, { event } or { type }");
  const body: unknown = await new Response(init.body ?? "{}").json().catch(() => undefined);
  const event = eventOf(body, accountIds);
  if (event === undefined) return refused("POST { alarm }, { event } or { type }");
  // Rejects only for an invalid event.
  const started = api.twin.deliver(event).then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : "invalid"),
  );
  const fault = await Promise.race([started, setImmediate(undefined)]);
  return fault === undefined ? Response.json({ accepted: true }, { status: 202 }) : refused(fault);
}

function eventOf(body: unknown, accountIds: readonly number[]): TwinEvent | undefined {
  const { alarm, event, type } = Object(body) as Record<string, unknown>;
  const isRecord = (value: unknown): boolean => typeof value === "object" && value !== null;
  if (isRecord(alarm) || isRecord(event)) return body as TwinEvent;
  if (type === "delete_my_data_event") {
    return { event: sampleOnlineDataEvent("DATA_REAPPEARED", {}, { accountIds }) };
  }
  return type === "new_alarm" ? { alarm: sampleAlarm({}, { accountIds }) } : undefined;
}
