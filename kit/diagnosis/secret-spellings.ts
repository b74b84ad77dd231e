import { jsonOf } from "../json-parts.js";
import type { Changes } from "./changes.js";
import { unescaped } from "./peeled-text.js";

const ENDS = ["\n", "\r\n", " "];
const ENCODINGS = ["base64", "base64url", "hex"] as const;
const PREFIX = "whsec_";

/** Mistakes that happen when a secret is configured, each undone or repeated: text that ends "The secret …". */
export const SECRET_SPELLINGS: Changes<string> = {
  secret_bom: {
    // `trim` removes a byte order mark too. In Latin-1 the mark is three letters.
    "begins with a byte order mark": (s) =>
      /^(?:\uFEFF|ï»¿)/.test(s) ? s.replace("ï»¿", "").trim() : undefined,
  },
  secret_whitespace: {
    "has white space around it that the signing secret does not have": (s) => s.trim(),
    "was registered or used with white space at an end, such as a newline, and is given without it":
      (s) => ENDS.map((end) => s.trim() + end),
    "has an invisible character in it, such as a zero-width space": (s) =>
      s.replaceAll(/[\p{Cf}\p{Zs}]/gu, ""),
  },
  secret_quoted: {
    "is given with quotes around it": unquote,
    "was registered with quotes around it": (s) => [`"${s.trim()}"`, `'${s.trim()}'`],
  },
  secret_assignment: {
    "is given with the name of its variable before it": afterEquals,
    "is given with a semicolon or a comma after it": (s) => s.trim().replace(/[;,]$/, ""),
    "is the JSON of a store of secrets, and one of its values is the signing secret": valuesOfJson,
  },
  secret_joined: { "contains several secrets, and one of them matches": partsOf },
  secret_escaped: {
    "has a newline or another character as an escape": (s) => [unescaped(s), unescaped(s).trim()],
  },
  secret_encoded: {
    "is the base64 or hexadecimal form of the signing secret": decoded,
    "was decoded from base64 or hexadecimal after whsec_, as in Standard Webhooks": (s) =>
      decoded(withoutPrefix(s)),
    "was used without its whsec_": withoutPrefix,
    "was used with whsec_ before it, and is given without it": (s) => PREFIX + s,
    "was encoded in base64 or hexadecimal before it was used": (s) =>
      ENCODINGS.map((as) => Buffer.from(s).toString(as)),
  },
};

function unquote(secret: string): string | undefined {
  return /^(["'`])(.*)\1$/s.exec(secret.trim())?.[2];
}

/** What precedes a value in an .env file, a shell, a Dockerfile, YAML, JSON, JavaScript, or Java's properties. */
const ASSIGNMENT =
  /^\s*(?:(?:export|set|setx|env|const|let|var)\s+)?["'`]?\$?[A-Za-z_][A-Za-z0-9_.:-]*["'`]?\s*[=:]\s*(.+)$/is;

/** The value of a line that assigns it, without quotes, a semicolon and a comment. */
function afterEquals(secret: string): readonly (string | undefined)[] {
  const value = ASSIGNMENT.exec(secret)?.[1]?.trim();
  if (value === undefined) return [];
  const bare = value
    .replace(/\s(?:#|\/\/).*$/s, "")
    .trim()
    .replace(/[,;]$/, "");
  return [value, unquote(value), bare, unquote(bare)];
}

function valuesOfJson(secret: string): readonly string[] {
  if (!/^\s*\{/.test(secret)) return [];
  const values: readonly unknown[] = Object.values(Object(jsonOf(secret)) as object);
  return values.filter((value) => typeof value === "string");
}

/** The parts of a text that joins several secrets, also those of a list in JSON and of several assignments. */
function partsOf(secret: string): readonly (string | undefined)[] {
  return [secret, unquote(secret), ...afterEquals(secret)].flatMap((text = "") => {
    const parts = text.split(/[\s,;|]+/, 8).filter((part) => part !== "");
    if (parts.length < 2) return [];
    return parts.flatMap((part) => [part.replace(/^[["']+|[\]"']+$/g, ""), ...afterEquals(part)]);
  });
}

function withoutPrefix(secret: string): string | undefined {
  return secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : undefined;
}

/** Kubernetes stores secrets in base64, often with a newline inside. */
function decoded(text = ""): readonly (string | Uint8Array)[] {
  const bare = text.trim();
  if (!/^[0-9A-Za-z+/_-]{4,}={0,2}$/.test(bare)) return [];
  return (["base64", "hex"] as const).flatMap((encoding) => {
    const bytes = Buffer.from(bare, encoding);
    return [bytes, bytes.toString("utf8").trim()];
  });
}
