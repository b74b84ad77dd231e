import { jsonOf } from "../json-parts.js";
import { percentDecoded, percentEncoded, type Changes } from "./changes.js";

const ENDS = ["\n", "\r\n", " ", "\r", "\t"];
const PREFIX = "whsec_";
const BOM = "\uFEFF";
/** Character sets in which the bytes of a secret may have been read. */
const NORMAL_FORMS = ["NFC", "NFD", "NFKC"] as const;

/** Mistakes that happen when a secret is configured, each undone or repeated: text that ends "The secret …". */
export const SECRET_SPELLINGS: Changes<string> = {
  secret_bom: {
    "begins with a byte order mark": withoutMark,
    "was registered with a byte order mark in front": (s) => BOM + s,
  },
  secret_whitespace: {
    "has white space around it that the signing secret does not have": (s) => s.trim(),
    "was registered or used with white space at an end, such as a newline, and is given without it":
      (s) => [
        ...ENDS.map((end) => s + end),
        ...ENDS.map((end) => s.trim() + end),
        ` ${s}`,
        ` ${s} `,
      ],
    "has an invisible character in it, such as a zero-width space": (s) =>
      s.replaceAll(/[\p{Cf}\p{Zs}]/gu, ""),
  },
  secret_quoted: {
    "is given with quotes around it": unquote,
    "was registered with quotes around it": (s) => [`"${s}"`, `'${s}'`, `"${s.trim()}"`],
  },
  secret_assignment: {
    "is given with the name of its variable before it": afterEquals,
    "is given with a semicolon or a comma after it": (s) => s.trim().replace(/[;,]$/, ""),
    "is the JSON of a store of secrets, and one of its values is the signing secret": valuesOfJson,
    "was registered with the name of a variable before it": (s) =>
      VARIABLES.map((name) => `${name}=${s.trim()}`),
  },
  secret_repeated: {
    "is given more than once in one text": repeatedPart,
    "was registered twice in one text": (s) => s.trim() + s.trim(),
  },
  secret_joined: { "contains several secrets, and one of them matches": partsOf },
  secret_escaped: { "has a newline or another character as an escape": unescape },
  secret_encoded: {
    "is the base64 form of the signing secret": (s) => decoded(s, "base64"),
    "is the hexadecimal form of the signing secret": (s) => decoded(s, "hex"),
    "was decoded from base64 after whsec_, as in Standard Webhooks": (s) =>
      decoded(withoutPrefix(s), "base64"),
    "was used without its whsec_": withoutPrefix,
    "was decoded from hexadecimal after whsec_": (s) => decoded(withoutPrefix(s), "hex"),
    "was used with whsec_ before it, and is given without it": (s) => PREFIX + s,
    "was encoded in base64 or hexadecimal before it was used": (s) =>
      (["base64", "base64url", "hex"] as const).map((as) => Buffer.from(s).toString(as)),
    "was encoded in base64 with a newline at its end, as echo adds": (s) =>
      Buffer.from(`${s}\n`).toString("base64"),
    "is given percent-encoded": (s) => percentDecoded(s).toReversed(),
    "was percent-encoded before it was used": (s) => {
      const encoded = percentEncoded(s);
      return [encoded, encoded?.replaceAll("%20", "+")];
    },
  },
  secret_letter_case: {
    "differs from the signing secret in letter case": (s) => [s.toLowerCase(), s.toUpperCase()],
  },
  secret_charset: {
    "has letters outside ASCII, and was read in another character set or normal form": (s) => [
      ...NORMAL_FORMS.map((form) => s.normalize(form)),
      Buffer.from(s, "latin1"),
      Buffer.from(s, "latin1").toString("utf8"),
      Buffer.from(s, "utf8").toString("latin1"),
    ],
  },
};

/** `trim` removes a byte order mark too. In Latin-1 the mark is three letters. */
function withoutMark(secret: string): string | undefined {
  const bare = secret.trim();
  if (bare.startsWith("ï»¿")) return bare.slice(3);
  return secret.includes(BOM) ? bare : undefined;
}

function unquote(secret: string): string | undefined {
  return /^(["'`])(.*)\1$/s.exec(secret.trim())?.[2];
}

/** Names that a secret is usually configured under. */
const VARIABLES = ["GATEWAY_WEBHOOK_SECRET", "WEBHOOK_SECRET"];
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
  const json = jsonOf(secret);
  if (typeof json !== "object" || json === null || Array.isArray(json)) return [];
  return Object.values(json).filter((value) => typeof value === "string");
}

/** The part that the whole text repeats, two to four times in a row, or between separators. */
function repeatedPart(secret: string): readonly (string | undefined)[] {
  return bareTexts(secret).map((text) => {
    const [first = "", ...others] = separated(text);
    if (others.length > 0 && others.every((other) => other === first)) return first;
    const times = [2, 3, 4].find(
      (count) => text.slice(0, text.length / count).repeat(count) === text,
    );
    return times === undefined ? undefined : text.slice(0, text.length / times);
  });
}

/** The parts of a text that joins several secrets, also those of a list in JSON and of several assignments. */
function partsOf(secret: string): readonly (string | undefined)[] {
  return bareTexts(secret).flatMap((text) => {
    const parts = separated(text);
    if (parts.length < 2) return [];
    return parts.flatMap((part) => {
      const bare = part.replace(/^[["']+|[\]"']+$/g, "");
      return [part, bare, ...afterEquals(part)];
    });
  });
}

function separated(text: string): readonly string[] {
  return text.split(/[\s,;|]+/, 8).filter((part) => part !== "");
}

/** The text, and the value in it without a name before it and quotes around it. */
function bareTexts(secret: string): readonly string[] {
  const text = secret.trim();
  const values = [text, unquote(text), ...afterEquals(text)];
  return [...new Set(values.filter((value) => typeof value === "string"))];
}

function unescape(secret: string): readonly (string | undefined)[] {
  if (!secret.includes("\\")) return [];
  const plain = secret
    .replaceAll("\\r", "\r")
    .replaceAll("\\n", "\n")
    .replaceAll("\\t", "\t")
    .replaceAll(/\\(.)/gs, "$1");
  return [plain, plain.trim()];
}

function withoutPrefix(secret: string): string | undefined {
  return secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : undefined;
}

/** Kubernetes stores secrets in base64, often with a newline inside. */
function decoded(text: string | undefined, encoding: "base64" | "hex") {
  const bare = text?.trim() ?? "";
  const form = { base64: /^[0-9A-Za-z+/_-]{4,}={0,2}$/, hex: /^(?:[0-9a-f]{2})+$/i }[encoding];
  if (!form.test(bare)) return undefined;
  const bytes = Buffer.from(bare, encoding);
  return [bytes, bytes.toString("utf8").trim()];
}
