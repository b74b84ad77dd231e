import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";
import { resolve } from "node:path";

/** What the command line of `npm run bench -- stores …` asks for. */
export interface LabOptions {
  /** Rows whose name contains one of these words. Empty: all rows. */
  readonly only: readonly string[];
  /** How many connections the load generator opens, one level after the other. */
  readonly connections: readonly number[];
  /** The folder of the package under test, built. */
  readonly package: string;
  /** The folder of another build of the package, to be measured in the same rounds. */
  readonly before: string | undefined;
  /** The Node that runs the receivers. */
  readonly node: string;
  /** Measured rounds per level. */
  readonly rounds: number;
  /** How long each contender is loaded in a round. */
  readonly seconds: number;
  /** Only measures what remembered ids cost: bytes, and the time of a delivery beside them. */
  readonly remembered: boolean;
  /** Keeps receiver and engine on the first core, and the load generator on the second. */
  readonly pin: boolean;
}

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Reads the options. Folders are relative to the folder in which npm was called. */
export function readLabOptions(args: readonly string[]): LabOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string", default: "" },
      connections: { type: "string", default: "1,32,128" },
      package: { type: "string", default: ROOT },
      before: { type: "string" },
      node: { type: "string", default: process.execPath },
      rounds: { type: "string", default: "5" },
      seconds: { type: "string", default: "1" },
      remembered: { type: "boolean", default: false },
      pin: { type: "boolean", default: false },
    },
  });
  const from = process.env["INIT_CWD"] ?? process.cwd();
  const list = (text: string): string[] => text.split(",").filter((word) => word !== "");
  return {
    only: list(values.only).map((word) => word.toLowerCase()),
    connections: list(values.connections).map((text) => positive("connections", text)),
    package: resolve(from, values.package),
    before: values.before === undefined ? undefined : resolve(from, values.before),
    node: resolve(from, values.node),
    rounds: positive("rounds", values.rounds),
    seconds: positive("seconds", values.seconds),
    remembered: values.remembered,
    pin: values.pin,
  };
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`--${name}: ${text} is not a number above 0`);
  return value;
}
