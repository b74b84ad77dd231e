import type { FindingCode } from "./finding-codes.js";

/** What the sender may have used instead of a secret. */
export interface SecretSpelling {
  readonly key: Uint8Array;
  readonly code: FindingCode;
  /** Ends a sentence that begins with the secret's name. */
  readonly what: string;
}

type Respelled = string | Uint8Array | undefined;

const ENDS = ["\n", "\r\n", " ", "\r", "\t"];
const PREFIX = "whsec_";
const BOM = "\uFEFF";
/** Character sets in which the bytes of a secret may have been read. */
const NORMAL_FORMS = ["NFC", "NFD", "NFKC"] as const;

/** Mistakes that happen when a secret is configured, each undone or repeated. Likely ones first. */
const ACCIDENTS: readonly (readonly [
  code: FindingCode,
  what: string,
  respell: (secret: string) => Respelled | readonly Respelled[],
])[] = [
  ["secret_bom", "begins with a byte order mark", withoutMark],
  [
    "secret_whitespace",
    "has white space around it that the signing secret does not have",
    (s) => s.trim(),
  ],
  [
    "secret_whitespace",
    "was registered or used with white space at an end, such as a newline, and is given without it",
    (s) => [...ENDS.map((end) => s + end), ...ENDS.map((end) => s.trim() + end), ` ${s}`, ` ${s} `],
  ],
  ["secret_bom", "was registered with a byte order mark in front", (s) => BOM + s],
  ["secret_quoted", "is given with quotes around it", unquote],
  [
    "secret_quoted",
    "was registered with quotes around it",
    (s) => [`"${s}"`, `'${s}'`, `"${s.trim()}"`],
  ],
  ["secret_assignment", "is given with the name of its variable before it", afterEquals],
  ["secret_assignment", "was registered with the name of a variable before it", assigned],
  ["secret_repeated", "is given more than once in one text", repeatedPart],
  ["secret_repeated", "was registered twice in one text", (s) => s.trim() + s.trim()],
  ["secret_joined", "contains several secrets, and one of them matches", partsOf],
  ["secret_escaped", "has a newline or another character as an escape", unescape],
  ["secret_encoded", "is the base64 form of the signing secret", (s) => decoded(s, "base64")],
  ["secret_encoded", "is the hexadecimal form of the signing secret", (s) => decoded(s, "hex")],
  [
    "secret_encoded",
    "was decoded from base64 after whsec_, as in Standard Webhooks",
    (s) => (s.startsWith(PREFIX) ? decoded(s.slice(PREFIX.length), "base64") : undefined),
  ],
  [
    "secret_encoded",
    "was used without its whsec_",
    (s) => (s.startsWith(PREFIX) ? s.slice(PREFIX.length) : undefined),
  ],
  [
    "secret_encoded",
    "was decoded from hexadecimal after whsec_",
    (s) => (s.startsWith(PREFIX) ? decoded(s.slice(PREFIX.length), "hex") : undefined),
  ],
  ["secret_encoded", "was used with whsec_ before it, and is given without it", (s) => PREFIX + s],
  [
    "secret_encoded",
    "was encoded in base64 or hexadecimal before it was used",
    (s) => (["base64", "base64url", "hex"] as const).map((as) => Buffer.from(s).toString(as)),
  ],
  [
    "secret_encoded",
    "was encoded in base64 with a newline at its end, as echo adds",
    (s) => Buffer.from(`${s}\n`).toString("base64"),
  ],
  ["secret_encoded", "is given percent-encoded", percentDecoded],
  ["secret_encoded", "was percent-encoded before it was used", percentEncoded],
  [
    "secret_letter_case",
    "differs from the signing secret in letter case",
    (s) => [s.toLowerCase(), s.toUpperCase()],
  ],
  [
    "secret_charset",
    "has letters outside ASCII, and was read in another character set or normal form",
    (s) => [
      ...NORMAL_FORMS.map((form) => s.normalize(form)),
      Buffer.from(s, "latin1"),
      Buffer.from(s, "latin1").toString("utf8"),
      Buffer.from(s, "utf8").toString("latin1"),
    ],
  ],
];

/** The spellings of one secret. The caller skips equal ones. */
export function secretSpellings(secret: string): readonly SecretSpelling[] {
  return ACCIDENTS.flatMap(([code, what, respell]) => {
    const made = respell(secret);
    const respelled = Array.isArray(made) ? (made as readonly Respelled[]) : [made as Respelled];
    return respelled.flatMap((one) => {
      if (one === undefined || one.length === 0) return [];
      const key = typeof one === "string" ? Buffer.from(one, "utf8") : one;
      return [{ key, code, what }];
    });
  });
}

/** `trim` removes a byte order mark too. In Latin-1 the mark is three letters. */
function withoutMark(secret: string): Respelled {
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

function assigned(secret: string): readonly Respelled[] {
  return VARIABLES.map((name) => `${name}=${secret.trim()}`);
}

/** The part that the whole text repeats, two to four times in a row, or between separators. */
function repeatedPart(secret: string): readonly Respelled[] {
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
function partsOf(secret: string): readonly Respelled[] {
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

function unescape(secret: string): readonly Respelled[] {
  if (!secret.includes("\\")) return [];
  const plain = secret
    .replaceAll("\\r", "\r")
    .replaceAll("\\n", "\n")
    .replaceAll("\\t", "\t")
    .replaceAll(/\\(.)/gs, "$1");
  return [plain, plain.trim()];
}

/** Kubernetes stores secrets in base64, often with a newline inside. */
function decoded(text: string, encoding: "base64" | "hex"): readonly Respelled[] {
  const bare = text.trim();
  const isEncoded =
    encoding === "hex"
      ? /^(?:[0-9a-f]{2})+$/i.test(bare)
      : /^[0-9A-Za-z+/_-]{4,}={0,2}$/.test(bare);
  if (!isEncoded) return [];
  const bytes = Buffer.from(bare, encoding);
  return [bytes, bytes.toString("utf8").trim()];
}

function percentDecoded(secret: string): readonly Respelled[] {
  try {
    return [decodeURIComponent(secret), decodeURIComponent(secret.replaceAll("+", " "))];
  } catch {
    return [];
  }
}

function percentEncoded(secret: string): readonly Respelled[] {
  try {
    const encoded = encodeURIComponent(secret);
    return [encoded, encoded.replaceAll("%20", "+")];
  } catch {
    // A lone surrogate cannot be encoded.
    return [];
  }
}
