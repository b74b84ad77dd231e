import {
  createManagementClient,
  type ManagementClient,
} from "../../src/management/management-client.js";
import { crmLogin } from "../../src/management/crm-login.js";
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
  legacy: flag("Sends no X-API-Version. Both formats are read in any case."),
  timeout: whole(
    "<ms>",
    { min: 1, max: 600_000, fallback: 15_000 },
    "How long to wait for an answer. Milliseconds.",
  ),
} as const satisfies OptionSpecs;

type GatewayValues = Values<typeof GATEWAY_OPTIONS>;

/** The client that the options name. Throws `UsageError` if one is missing. */
export async function connectToGateway(
  io: CommandIo,
  values: GatewayValues,
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
  return createManagementClient({ ...connection, token: await tokenOf(io, values, connection) });
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
  const given =
    tokenFile === undefined
      ? io.env[TOKEN]
      : new TextDecoder()
          .decode(await readOption(io, "token-file", tokenFile))
          .replace(/\r?\n$/, "");
  if (given !== undefined && given !== "") return given;
  throw new UsageError(`no CRM token: set ${TOKEN}, or pass --token-file or --login-file`);
}

async function readOption(
  io: CommandIo,
  option: "login-file" | "token-file",
  path: string,
): Promise<Uint8Array> {
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
