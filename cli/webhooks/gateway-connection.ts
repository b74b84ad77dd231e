import {
  createManagementClient,
  type ManagementClient,
} from "../../src/management/management-client.js";
import { crmLogin } from "../../src/management/crm-login.js";
import { valueAt } from "../../src/management/attempt-reader.js";
import { isOnePage, type NextPage } from "../../src/management/list-pages.js";
import { jsonOf } from "../../kit/json-parts.js";
import { UsageError } from "../exit.js";
import { flag, text, whole, type OptionSpecs, type Values } from "../options/option-specs.js";
import { readInput, readSecretive } from "../options/read-input.js";
import type { CommandIo } from "../terminal/command-io.js";
import { warnIfReadByOthers } from "./private-file.js";

const BASE_URL = "GATEWAY_BASE_URL";
const TOKEN = "GATEWAY_CRM_TOKEN";

/** The options of every command that calls the gateway. */
export const GATEWAY_OPTIONS = {
  "base-url": text("<url>", `The gateway's address. Default: the variable ${BASE_URL}.`),
  "allow-http": flag("Takes an http address of another machine: all goes in clear."),
  "token-file": text("<file>", `A file that holds a CRM token. Default: the variable ${TOKEN}.`),
  "login-file": text(
    "<file>",
    "A file with the JSON body of a CRM login. The token is renewed when it ends.",
  ),
  "next-page": text(
    "<path>",
    "Where a page of a list names the next one: a dotted path to its URL, such as links.next; cursor=meta.next_cursor for a value of the query; or page=meta.current_page/meta.last_page.",
  ),
  legacy: flag("Sends no X-API-Version. Both formats are read in any case."),
  timeout: whole(
    "<ms>",
    { min: 1, max: 600_000, fallback: 15_000 },
    "How long to wait for an answer. Milliseconds.",
  ),
} as const satisfies OptionSpecs;

type GatewayValues = Values<typeof GATEWAY_OPTIONS>;

/** The client that the options name. Throws `UsageError` if one is missing. `nextPage`: without the option. */
export async function connectToGateway(
  io: CommandIo,
  values: GatewayValues,
  nextPage?: NextPage,
): Promise<ManagementClient> {
  const baseUrl = values["base-url"] ?? io.env[BASE_URL] ?? "";
  if (baseUrl === "") throw new UsageError(`no gateway: set ${BASE_URL}, or pass --base-url`);
  const { timeout: timeoutMs, legacy } = values;
  const connection = {
    baseUrl,
    allowHttp: values["allow-http"],
    timeoutMs,
    signal: io.signal,
    apiVersion: legacy ? (false as const) : undefined,
  };
  return createManagementClient({
    ...connection,
    nextPage: values["next-page"] === undefined ? nextPage : nextPageAt(values["next-page"]),
    token: await tokenOf(io, values, connection),
  });
}

function nextPageAt(given: string): NextPage {
  const found = /^(?:([^=/]+)=)?([^=/]+)(?:\/([^=/]+))?$/.exec(given) ?? [];
  const [, name, path = "", lastPath] = found;
  if (path === "" || (lastPath !== undefined && name === undefined)) {
    throw new UsageError("--next-page takes path, name=path or name=path/path");
  }
  let isFound = false;
  return (body, headers) => {
    const value = valueAt(body, path);
    isFound ||= value !== undefined;
    // A wrong path would take the first page for the whole list.
    if (!isFound && isOnePage(body, headers)) {
      throw new UsageError("--next-page: a list has more pages, and nothing at this path");
    }
    if (lastPath !== undefined) {
      const page = Number(value);
      return page < Number(valueAt(body, lastPath)) ? `?${name}=${page + 1}` : undefined;
    }
    if ((typeof value !== "string" && typeof value !== "number") || value === "") return undefined;
    return name === undefined ? String(value) : `?${name}=${encodeURIComponent(value)}`;
  };
}

async function tokenOf(
  io: CommandIo,
  values: GatewayValues,
  connection: Omit<Parameters<typeof crmLogin>[0], "credentials">,
): Promise<string | (() => Promise<string>)> {
  const { "login-file": loginFile, "token-file": tokenFile } = values;
  if (loginFile !== undefined && tokenFile !== undefined) {
    throw new UsageError("--token-file and --login-file exclude each other: leave one out");
  }
  if (loginFile !== undefined) {
    const credentials = credentialsIn(await readOption(io, "login-file", loginFile));
    return async () => (await crmLogin({ ...connection, credentials })).token;
  }
  const bytes = tokenFile === undefined ? undefined : await readOption(io, "token-file", tokenFile);
  const inFile = bytes && new TextDecoder().decode(bytes).replace(/\r?\n$/, "");
  const given = tokenFile === undefined ? io.env[TOKEN] : inFile;
  if (given !== undefined && given !== "") return given;
  throw new UsageError(`no CRM token: set ${TOKEN}, or pass --token-file or --login-file`);
}

async function readOption(io: CommandIo, option: "login-file" | "token-file", path: string) {
  if (path === "-") return readInput(io, path);
  const bytes = await readSecretive(option, path);
  await warnIfReadByOthers(io, option, path, `the ${option === "login-file" ? "login" : "token"}`);
  return bytes;
}

function credentialsIn(bytes: Uint8Array): Record<string, unknown> {
  // Without the error of the parser: it quotes the file.
  const parsed = jsonOf(new TextDecoder().decode(bytes));
  if (typeof parsed === "object" && parsed !== null && !Array.isArray(parsed)) {
    return parsed as Record<string, unknown>;
  }
  throw new UsageError("--login-file: its content is not a JSON object");
}
