// The programs that `npm run test:all` needs beside Node. Run by itself it prints the Debian packages of the missing
// ones on one line, which `.ci/run` installs.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

/** A program, or several that come together. */
interface Engine {
  readonly name: string;
  /** Package of Debian. */
  readonly debian: string;
  /** What it must have on the PATH, or in one of `folders`. */
  readonly commands: readonly string[];
  /** Where Debian puts commands that are not on everyone's PATH. */
  readonly folders?: readonly string[];
  /** Arguments of the first command, which fails if a part is missing. */
  readonly check?: readonly string[];
}

const POSTGRES = "/usr/lib/postgresql";
const postgresFolders = existsSync(POSTGRES)
  ? readdirSync(POSTGRES).map((version) => path.join(POSTGRES, version, "bin"))
  : [];

const ENGINES: readonly Engine[] = [
  {
    name: "PostgreSQL",
    debian: "postgresql",
    commands: ["initdb", "postgres"],
    folders: postgresFolders,
  },
  { name: "PgBouncer", debian: "pgbouncer", commands: ["pgbouncer"], folders: ["/usr/sbin"] },
  {
    name: "MariaDB",
    debian: "mariadb-server",
    commands: ["mariadbd", "mariadb-install-db"],
    folders: ["/usr/sbin"],
  },
  { name: "Redis", debian: "redis-server", commands: ["redis-server"] },
  { name: "NATS", debian: "nats-server", commands: ["nats-server"], folders: ["/usr/sbin"] },
  {
    name: "RabbitMQ",
    debian: "rabbitmq-server",
    commands: ["rabbitmq-server", "epmd"],
    folders: ["/usr/lib/rabbitmq/bin"],
  },
  { name: "Chromium", debian: "chromium", commands: ["chromium"] },
  { name: "Prometheus", debian: "prometheus", commands: ["prometheus", "promtool"] },
  { name: "a C++ compiler", debian: "g++", commands: ["g++"] },
  { name: "a C compiler", debian: "gcc", commands: ["gcc"] },
  { name: "Spin", debian: "spin", commands: ["spin"] },
  { name: "make", debian: "make", commands: ["make"] },
  { name: "Python", debian: "python3", commands: ["python3"] },
  { name: "Go", debian: "golang-go", commands: ["go"] },
  { name: "PHP", debian: "php-cli", commands: ["php"] },
  {
    name: "Ruby with Sinatra",
    debian: "ruby-sinatra",
    commands: ["ruby"],
    check: ["-e", 'require "sinatra/base"'],
  },
  { name: "Puma", debian: "puma", commands: ["puma"] },
  { name: "nginx", debian: "nginx-light", commands: ["nginx"], folders: ["/usr/sbin"] },
  { name: "OpenSSL", debian: "openssl", commands: ["openssl"] },
  { name: "curl", debian: "curl", commands: ["curl"] },
  { name: "zip", debian: "zip", commands: ["zip"] },
  { name: "unzip", debian: "unzip", commands: ["unzip"] },
  { name: "git", debian: "git", commands: ["git"] },
];

const PATH = (process.env["PATH"] ?? "").split(path.delimiter);

function isThere({ commands, folders = [], check }: Engine): boolean {
  const found = commands.every((command) =>
    [...PATH, ...folders].some((folder) => existsSync(path.join(folder, command))),
  );
  const [first = ""] = commands;
  if (!found || check === undefined) return found;
  try {
    execFileSync(first, check, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** The engines that this machine lacks. */
export const missingEngines = ENGINES.filter((engine) => !isThere(engine));

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.stdout.write(`${missingEngines.map(({ debian }) => debian).join(" ")}\n`);
}
