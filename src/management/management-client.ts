import { ConfigurationError, invalidOption } from "../common/errors.js";
import { isObject, ownOptions } from "../common/option-checks.js";
import { secretFault } from "../signature/secrets.js";
import {
  checkConnection,
  CONNECTION_OPTION_NAMES,
  type ConnectionOptions,
} from "./call-settings.js";
import { GatewayCalls, HTTP_METHODS, type HttpMethod } from "./gateway-calls.js";
import { textsOf } from "./gateway-errors.js";
import { asksForPage, incomplete, isOnePage, listAll, type NextPage } from "./list-pages.js";
import { ManagementError } from "./management-error.js";
import { tokenSource, type TokenOption } from "./token-source.js";
import { definedOf, getWebhook, updateWebhook, type UpdateOptions } from "./update-webhook.js";
import {
  NEW_WEBHOOK_NAMES,
  readWebhook,
  type NewWebhook,
  type Webhook,
  type WebhookChanges,
} from "./webhook.js";

/**
 * Options of `createManagementClient`.
 *
 * @experimental
 */
export interface ManagementClientOptions extends ConnectionOptions {
  /**
   * The CRM token, or a function that logs in and returns one. The function is called for the first call, and again
   * once for a call that is answered 401.
   */
  readonly token: TokenOption;
  /** How to find the next page of a list. Default none: a list that names one is an error, `incomplete_list`. */
  readonly nextPage?: NextPage | undefined;
}

/**
 * Options of a single call.
 *
 * @experimental
 */
export interface CallOptions {
  /** Ends the call when it aborts. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Options of `client.request`.
 *
 * @experimental
 */
export interface RequestOptions extends CallOptions {
  /** Sent as JSON. */
  readonly body?: object | undefined;
  /** Added to the path. An undefined value is left out. */
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined;
  /** In place of the client's token: the app token of an account, or null for a route that takes none. */
  readonly token?: TokenOption | null | undefined;
}

/**
 * The gateway's webhook routes, and with `request` any other. Every method rejects with a `ManagementError`.
 *
 * @experimental
 */
export interface ManagementClient {
  readonly webhooks: {
    /**
     * Creates a webhook. After `network`, `timeout` or `unexpected_answer` it may exist: list them before you try again.
     * Rejects with a `ConfigurationError` for an unusable secret.
     */
    create(webhook: NewWebhook, options?: CallOptions): Promise<Webhook>;
    /** All webhooks of the client. */
    list(options?: CallOptions): Promise<readonly Webhook[]>;
    get(id: string | number, options?: CallOptions): Promise<Webhook>;
    /**
     * Updates a webhook: reads it, sends all of it with `changes`, reads it again and compares. The gateway does not
     * document whether an update without the secret keeps the secret, so `changes` must have it.
     */
    update(id: string | number, changes: WebhookChanges, options?: UpdateOptions): Promise<Webhook>;
    delete(id: string | number, options?: CallOptions): Promise<void>;
  };
  /** Delivery attempts, of a webhook with `enable_requests_history`. The gateway does not document their fields. */
  readonly attempts: {
    /** All stored attempts of a webhook. `attemptReader` reads them. */
    list(webhookId: string | number, options?: CallOptions): Promise<readonly unknown[]>;
    get(
      webhookId: string | number,
      attemptId: string | number,
      options?: CallOptions,
    ): Promise<unknown>;
  };
  /**
   * Calls any route of the gateway, such as `GET /api/v1/alarms`, with what every call here has: the token and its
   * renewal, limits of time and size, another try where that is safe, and no redirect. Resolves to the JSON of the
   * answer; undefined if it is empty. Rejects with a `ConfigurationError` for a path that is not below `baseUrl` or
   * may reach another route (a dot segment, a backslash, a `#`), and for a GET with a body.
   *
   * A GET that is answered with one page of a list rejects with `incomplete_list`, as the lists of the client do, unless
   * its query asks for a page (`page`, `page_token`, `cursor`, `offset`, `skip`, `after`): then you read the pages.
   *
   * An error has the gateway's code and the names of the refused fields of the body. It names neither the path nor a
   * value of the query or the body, and has no text of the answer: all may be personal data.
   *
   * @example
   * // The answer is unknown: check it, or say what it is.
   * const answer = await client.request("POST", "/api/v1/sso/token", { body: login, token: null });
   * const { token } = answer as { token: string };
   * const alarms = await client.request("GET", "/api/v1/alarms", { token });
   */
  request(method: HttpMethod, path: string, options?: RequestOptions): Promise<unknown>;
}

/**
 * Makes a client of the gateway's webhook routes. It uses `fetch` alone.
 *
 * @example
 * const client = createManagementClient({
 *   baseUrl: "https://gateway.example",
 *   token: async () => (await crmLogin({ baseUrl, credentials })).token,
 * });
 * for (const webhook of await client.webhooks.list()) console.log(webhook.title, webhook.url);
 *
 * @throws ConfigurationError for an unknown or invalid option.
 * @experimental
 */
export function createManagementClient(options: ManagementClientOptions): ManagementClient {
  const names = ["token", "nextPage", ...CONNECTION_OPTION_NAMES];
  const own = ownOptions("createManagementClient", options, names);
  const settings = checkConnection(own);
  const { baseUrl, timeoutMs } = settings;
  const calls = new GatewayCalls(settings, tokenSource(own.token, timeoutMs));
  const list = (path: string, { signal }: CallOptions = {}) =>
    listAll(calls, baseUrl, path, own.nextPage, signal);

  return {
    webhooks: {
      async create(webhook, { signal } = {}) {
        const given = ownOptions("webhooks.create", webhook, NEW_WEBHOOK_NAMES);
        const { secret } = given;
        checkSecret(given);
        const defaults = {
          is_active: true,
          skip_ssl_verification: false,
          enable_requests_history: true,
        };
        const body = { ...defaults, ...definedOf(given) };
        const path = "api/v1/webhook";
        const made = await calls.call({
          method: "POST",
          path,
          body,
          secrets: secret === undefined ? undefined : [secret],
          signal,
        });
        return readWebhook(made, `POST ${path}`);
      },
      async list(callOptions) {
        const path = "api/v1/webhooks";
        return (await list(path, callOptions)).map((one) => readWebhook(one, `GET ${path}`));
      },
      async get(id, { signal } = {}) {
        return getWebhook(calls, pathOf(id), signal);
      },
      async update(id, changes, updateOptions = {}) {
        checkSecret(changes);
        return updateWebhook(calls, pathOf(id), changes, updateOptions);
      },
      async delete(id, { signal } = {}) {
        await calls.call({ method: "DELETE", path: pathOf(id), signal });
      },
    },
    attempts: {
      async list(webhookId, callOptions) {
        return list(`${pathOf(webhookId)}/requests`, callOptions);
      },
      async get(webhookId, attemptId, { signal } = {}) {
        const path = `${pathOf(webhookId)}/requests/${segmentOf("attemptId", attemptId)}`;
        const body = await calls.call({ method: "GET", path, signal });
        // With an id beside it `data` is a field of the attempt.
        const { data, id } = Object(body) as Record<string, unknown>;
        return id === undefined ? (data ?? body) : body;
      },
    },
    async request(method, path, given = {}) {
      const { body, query, token, signal } = ownOptions("request", given, REQUEST_NAMES);
      if (!HTTP_METHODS.includes(method)) {
        throw invalidOption(`method must be one of ${HTTP_METHODS.join(", ")}`);
      }
      if (body !== undefined) {
        if (method === "GET") throw invalidOption("a GET has no body: use query");
        if (!isObject(body) && !Array.isArray(body)) {
          throw invalidOption("body must be a JSON object or array");
        }
      }
      const url = urlBelow(baseUrl, path, query);
      const secrets = [...textsOfUrl(url), ...textsOf("body", body)];
      const ofToken =
        token === undefined
          ? calls
          : new GatewayCalls(settings, token === null ? undefined : tokenSource(token, timeoutMs));
      const name = "of client.request";
      const sent = { method, path: url.href, name, body, secrets, signal };
      const { value, headers } = await ofToken.answer(sent);
      const expectsAll = method === "GET" && !asksForPage(url.searchParams);
      if (expectsAll && isOnePage(value, headers, own.nextPage)) {
        throw incomplete(
          `GET ${name} returned one page of several: ask for each, such as with query: { page: 1 }`,
        );
      }
      return value;
    },
  };
}

const REQUEST_NAMES = ["body", "query", "token", "signal"] as const;

/** What a URL or a server behind it may resolve to another route. A URL leaves out tabs, newlines and blanks at its end. */
const OTHER_ROUTE = /[\\#\p{Cc}]|(?:^|\/|%2f|%5c)\s*(?:\.|%2e){1,2}\s*(?:$|\/|%2f|%5c)/iu;

/** The token goes with the request, so it must not leave the gateway. */
function urlBelow(baseUrl: URL, path: string, query: RequestOptions["query"] = {}): URL {
  const relative = typeof path === "string" ? path.replace(/^\//, "") : undefined;
  const isPath = relative !== undefined && !OTHER_ROUTE.test(relative.replace(/\?.*/s, ""));
  const url = isPath && URL.canParse(relative, baseUrl.href) && new URL(relative, baseUrl);
  if (url === false || !url.href.startsWith(baseUrl.href)) {
    throw invalidOption(
      "path must be a path below baseUrl, such as /api/v1/alarms, without a dot segment, backslash or #",
    );
  }
  if (!isObject(query)) throw invalidOption("query must be an object");
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.append(name, String(value));
  }
  return url;
}

/** What may be personal data in a URL: the values of its query, and the segments of its path that are no route's words. */
function textsOfUrl({ pathname, searchParams }: URL): readonly string[] {
  const segments = pathname.split("/").filter((one) => !/^(?:[a-z-]*|v\d)$/.test(one));
  return [...segments, ...searchParams.values()];
}

/** `secret: undefined` is refused: an unset variable must not make an unsigned webhook. */
function checkSecret(given: object): void {
  if (!Object.hasOwn(given, "secret")) return;
  const fault = secretFault((given as { readonly secret: unknown }).secret);
  if (fault !== undefined) throw new ConfigurationError("unusable_secret", `secret ${fault}`);
}

function pathOf(id: string | number): string {
  return `api/v1/webhook/${segmentOf("id", id)}`;
}

function segmentOf(name: string, id: string | number): string {
  const text = String(id);
  // A dot segment would name another route.
  if (/^\.{0,2}$/.test(text)) {
    throw invalidOption(`${name} must be an id of the gateway`);
  }
  if (/\p{Surrogate}/u.test(text)) {
    throw new ManagementError(
      "not_found",
      `${name} has half of a surrogate pair, so no webhook has it`,
    );
  }
  return encodeURIComponent(text);
}
