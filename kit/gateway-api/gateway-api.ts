import { randomBytes } from "node:crypto";
import { jsonOf } from "../json-parts.js";
import { startTwin, type GatewayTwin } from "../twin/gateway-twin.js";
import type { TwinDelivery } from "../twin/twin-delivery.js";
import { bodyOf, type TwinEvent } from "../twin/twin-event.js";
import type { ActiveWebhook } from "../twin/twin-webhook.js";
import { ApiError, errorAnswer, formatOf, type ApiFormat } from "./api-format.js";
import {
  checkApiOptions,
  type ApiSettings,
  type GatewayApiOptions,
  type StoredAttempt,
} from "./api-options.js";
import { serveApi, type ApiAddress, type ListeningApi } from "./api-server.js";
import { WebhookTable } from "./webhook-table.js";

/**
 * The gateway's webhook routes, its logins and the lists of its records, wired to a twin that delivers to the webhooks created there.
 *
 * @experimental
 */
export interface GatewayApi {
  /** Answers a request. Give it to `createManagementClient` as `fetch`, or mount it on a server. Rejects only for what
   * is no request, such as a URL without a host. */
  readonly fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>;
  /** Serves the routes over HTTP. Rejects if the port is not free. */
  readonly listen: (address?: ApiAddress) => Promise<ListeningApi>;
  /** Delivers events to the active webhooks. The reports name each webhook by its id. */
  readonly twin: GatewayTwin<readonly TwinDelivery[]>;
  /** Throttles the next requests: 429 or 409, with `Retry-After: 1`. */
  readonly throttle: (requests: number) => void;
  /** Makes every token invalid, as after its end. */
  readonly endSessions: () => void;
  /** Stops the deliveries and closes all connections and servers. */
  readonly close: () => Promise<void>;
}

const HOUR_MS = 3_600_000;

/**
 * The gateway on your desk: its seven webhook routes, the CRM login, the app token, the lists of alarms and Online Data
 * events and the closing of an alarm as its document describes them, in both formats, and a twin that delivers to the
 * webhooks. Its records are those that the twin has delivered. Where the document is silent, a switch chooses. Unlike the gateway it also
 * takes http URLs.
 *
 * @example
 * const gateway = createGatewayApi({ clock: createVirtualClock() });
 * const client = createManagementClient({ baseUrl: "https://gateway.example", fetch: gateway.fetch, token });
 * await gateway.twin.deliver({ alarm: sampleAlarm() });
 *
 * @throws ConfigurationError for an unknown or invalid option.
 * @experimental
 */
export function createGatewayApi(options: GatewayApiOptions = {}): GatewayApi {
  const settings = checkApiOptions(options);
  const active: ActiveWebhook[] = [];
  const table = new WebhookTable(settings, active);
  const twin = startTwin({ ...settings.twin, isSingle: false, webhooks: active });
  const records = new RecordTable();
  const routes = new ApiRoutes(settings, table, records);
  const servers = new Set<ListeningApi>();
  const fetch: GatewayApi["fetch"] = async (input, init) => routes.answer(new Request(input, init));
  return {
    fetch,
    async listen(address) {
      const server = await serveApi(fetch, address);
      servers.add(server);
      return server;
    },
    twin: {
      ...(twin as GatewayTwin<readonly TwinDelivery[]>),
      async deliver(event, own) {
        if (own?.overtakenBy !== undefined) records.keep(own.overtakenBy);
        return twin.deliver(records.keep(event), own) as Promise<readonly TwinDelivery[]>;
      },
      deliverMany: (events, own) => twin.deliverMany(kept(records, events), own),
    },
    throttle: (requests) => {
      routes.throttled = requests;
    },
    endSessions: () => routes.sessions.clear(),
    async close() {
      await Promise.all([...servers].map((server) => server.close()));
      await twin.close();
      table.close();
    },
  };
}

function* kept(records: RecordTable, events: Iterable<TwinEvent>): Iterable<TwinEvent> {
  for (const event of events) yield records.keep(event);
}

/** Whose token it is, and when it ends, in Unix milliseconds. */
interface Session {
  /** Of an app token. Undefined for a CRM token. */
  readonly accountId: string | undefined;
  readonly endsAt: number;
}

/** Answers each route. */
class ApiRoutes {
  readonly sessions = new Map<string, Session>();
  throttled = 0;
  readonly #settings: ApiSettings;
  readonly #table: WebhookTable;
  readonly #records: RecordTable;

  constructor(settings: ApiSettings, table: WebhookTable, records: RecordTable) {
    this.#settings = settings;
    this.#table = table;
    this.#records = records;
  }

  async answer(request: Request): Promise<Response> {
    const format = formatOf(request, this.#settings.legacyBooleans);
    try {
      return await this.#route(request, format);
    } catch (error) {
      const known =
        error instanceof ApiError ? error : new ApiError(500, "SERVER_ERROR", "Server error.");
      return errorAnswer(format, known);
    }
  }

  async #route(request: Request, format: ApiFormat): Promise<Response> {
    const { pathname } = new URL(request.url);
    const [, path = ""] = /\/api\/(?:v1\/|v2\/(?=alarms$))(.+)$/.exec(pathname) ?? [];
    const route = `${request.method} ${path}`;
    if (this.throttled > 0) {
      this.throttled -= 1;
      const status = format.isStandard && !this.#settings.legacyThrottling ? 429 : 409;
      const code = status === 429 ? "RATE_LIMITED" : "CONFLICT";
      const { retryAfter } = this.#settings;
      const headers: Record<string, string> = retryAfter ? { "retry-after": "1" } : {};
      throw new ApiError(status, code, "Too many attempts.", [], headers);
    }
    if (route === "POST crm/auth/login") return this.#login(await jsonBodyOf(request));
    if (route === "POST sso/token") return this.#signIn(await jsonBodyOf(request));
    const { accountId } = this.#authenticate(request);
    if (accountId !== undefined) return this.#ofAccount(route, accountId);
    const [root, ofAccount = "", ...rest] = path.split("/");
    if (root === "alarms" && rest[0] === "close") return this.#ofAccount(route, undefined);
    if (root === "account" && rest.at(-1) === "close") {
      return this.#ofAccount(`${request.method} ${rest.join("/")}`, ofAccount);
    }
    if (!this.#settings.webhooksEnabled) {
      throw new ApiError(403, "FORBIDDEN", "Webhooks are not enabled for this client.");
    }
    if (route === "POST webhook") {
      const created = await this.#table.create(await jsonBodyOf(request));
      return Response.json({ data: created.toRecord(format) }, { status: 201 });
    }
    if (route === "GET webhooks") {
      return this.#list(this.#table.list().map((webhook) => webhook.toRecord(format)));
    }
    const match = /^(GET|PUT|DELETE) webhook\/([^/]+)(?:\/(requests)(?:\/([^/]+))?)?$/.exec(route);
    const [, method, id = "", history, attemptId] = match ?? [];
    if (history !== undefined && method === "GET") return this.#history(id, attemptId, format);
    if (history !== undefined || method === undefined) throw notFound();
    if (method === "PUT") await this.#table.update(id, await jsonBodyOf(request));
    if (method === "DELETE") {
      this.#table.delete(id);
      return new Response(null, { status: 204 });
    }
    return Response.json({ data: this.#table.get(id).toRecord(format) });
  }

  #login(body: Readonly<Record<string, unknown>>): Response {
    if (!this.#settings.login(body)) throw unauthenticated();
    const hours = body["keep_logged"] === true ? 24 : 1;
    const { token, endsAt } = this.#startSession(hours, undefined);
    const expires_at = new Date(endsAt).toISOString().replace(/\.\d+Z$/, "+00:00");
    return Response.json({ token, expires_at, expires_in: hours * 3_600 });
  }

  /** An app token. The account is the number in the email, since the kit has no accounts: `1007@example.com`. */
  #signIn(body: Readonly<Record<string, unknown>>): Response {
    const { client_id, client_secret, email } = body;
    const [accountId] = /\d+/.exec(typeof email === "string" ? email : "") ?? [];
    const isGood = typeof client_id === "string" && typeof client_secret === "string";
    if (!isGood || accountId === undefined || !this.#settings.login(body)) throw unauthenticated();
    return Response.json({ token: this.#startSession(1, accountId).token });
  }

  #startSession(hours: number, accountId: string | undefined) {
    const token = randomBytes(20).toString("hex");
    const endsAt = this.#settings.twin.clock.now() + hours * HOUR_MS;
    this.sessions.set(token, { endsAt, accountId });
    return { token, endsAt };
  }

  #authenticate(request: Request): Session {
    const [, token = ""] = /^Bearer (.+)$/.exec(request.headers.get("authorization") ?? "") ?? [];
    const session = this.sessions.get(token);
    if (session === undefined || session.endsAt <= this.#settings.twin.clock.now()) {
      throw unauthenticated();
    }
    return session;
  }

  /** The routes of an app token, and those of the partner that close an alarm: of any account if none is named. */
  #ofAccount(route: string, accountId: string | undefined): Response {
    const { listedRecord = (record: unknown) => record } = this.#settings;
    const items = (records: readonly unknown[]) =>
      this.#list(records.map((one) => listedRecord(one)));
    if (route === "GET alarms") return items(this.#records.alarms(accountId));
    if (route === "GET delete-my-data/events") return items(this.#records.events(accountId));
    const [list, id = "", verb] = route.split("/");
    if (list !== "GET alarms" || verb !== "close") throw notFound();
    return Response.json({ data: listedRecord(this.#records.close(accountId, id)) });
  }

  #history(id: string, attemptId: string | undefined, format: ApiFormat): Response {
    const { attemptRecord = (attempt: StoredAttempt) => recordOf(attempt, format) } =
      this.#settings;
    const attempts = this.#table.attempts(id);
    if (attemptId === undefined) return this.#list(attempts.map((one) => attemptRecord(one)));
    const found = attempts.find((one) => String(one.id) === attemptId);
    if (found === undefined) throw notFound();
    return Response.json({ data: attemptRecord(found) });
  }

  #list(items: readonly unknown[]): Response {
    return Response.json(this.#settings.lists === "bare" ? items : { data: items });
  }
}

/** Fields of our own: the gateway's document shows none. */
function recordOf(attempt: StoredAttempt, { date }: ApiFormat): unknown {
  const { id, webhookId, deliveryId, at, status = null, error = null, body } = attempt;
  return {
    id,
    webhook_id: Number(webhookId),
    delivery_id: deliveryId,
    status,
    error,
    body,
    created_at: date(at.getTime()),
  };
}

async function jsonBodyOf(request: Request): Promise<Readonly<Record<string, unknown>>> {
  const body: unknown = await request.json().catch(() => undefined);
  if (typeof body === "object" && body !== null) return body as Record<string, unknown>;
  throw new ApiError(422, "VALIDATION_ERROR", "The body must be a JSON object.");
}

function unauthenticated(): ApiError {
  return new ApiError(401, "UNAUTHENTICATED", "Unauthenticated.");
}

function notFound(): ApiError {
  return new ApiError(404, "NOT_FOUND", "The route was not found.");
}

type GatewayRecord = Readonly<Record<string, unknown>>;

/** The alarms and events that the gateway has made up, whether a webhook was called for them or not. */
class RecordTable {
  readonly #alarms = new Map<string, GatewayRecord>();
  readonly #events: GatewayRecord[] = [];

  /** Keeps the record of an event, and returns the event. One that holds no record is only delivered. */
  keep(event: TwinEvent): TwinEvent {
    const text = new TextDecoder().decode(bodyOf(event).body);
    const { alarm, event: record } = Object(jsonOf(text)) as Record<
      string,
      GatewayRecord | undefined
    >;
    if (alarm !== undefined) this.#alarms.set(String(alarm["id"]), alarm);
    else if (record !== undefined) this.#events.push(record);
    return event;
  }

  /** The alarms of an account, or of all, the newest last. */
  alarms(accountId: string | undefined): readonly GatewayRecord[] {
    return [...this.#alarms.values()].filter((one) => isOf(accountId, one));
  }

  events(accountId: string | undefined): readonly GatewayRecord[] {
    return this.#events.filter((one) => isOf(accountId, one));
  }

  /** Closes an alarm of the account, or of any. No webhook is called: they are called for new alarms only. */
  close(accountId: string | undefined, id: string): GatewayRecord {
    const alarm = this.alarms(accountId).find((one) => String(one["id"]) === id);
    if (alarm === undefined) throw new ApiError(404, "NOT_FOUND", "Not found.");
    const closed = { ...alarm, status: "CLOSED" };
    this.#alarms.set(id, closed);
    return closed;
  }
}

function isOf(accountId: string | undefined, record: GatewayRecord): boolean {
  return accountId === undefined || String(record["account_id"]) === accountId;
}
