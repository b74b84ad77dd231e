/** Longest value, in characters. A driver's message may quote a whole statement. */
const MAX_TEXT = 1_000;
const MAX_FRAMES = 8;

/** Characters that break a line or change how a terminal shows it: controls, line ends, bidi, zero width. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * Formats an entry as one line: the message, then the details as `key=value`. An error becomes its name
 * and message, its code, its cause and the frames of its stack, innermost first.
 */
export function logLine(
  message: string,
  { err, ...facts }: object & { readonly err?: unknown },
): string {
  const pairs = [...Object.entries(facts), ...errorPairs(err)];
  const values = pairs
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}=${valueText(value)}`);
  return escapeUnprintable([message, ...values].join(" "));
}

function errorPairs(err: unknown): [string, unknown][] {
  if (err === undefined) return [];
  try {
    if (!(err instanceof Error)) return [["err", textOf(err)]];
    const { code } = err as { code?: unknown };
    const { cause } = err;
    return [
      ["err", `${err.name}: ${err.message}`],
      ["code", typeof code === "string" || typeof code === "number" ? code : undefined],
      ["cause", cause === undefined ? undefined : causeText(cause)],
      ["stack", framesOf(err.stack)],
    ];
  } catch {
    // A proxy or a getter of a user's error may throw.
    return [["err", "an error that cannot be read"]];
  }
}

/** A cause that cannot be written must not hide the error itself. */
function causeText(cause: unknown): string {
  try {
    return textOf(cause);
  } catch {
    return "a value that cannot be read";
  }
}

function textOf(thrown: unknown): string {
  return thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
}

/** Only the frames: the lines above them repeat the message. Undefined if there are none. */
function framesOf(stack: string | undefined): string | undefined {
  const frames = stack?.split("\n").filter((line) => /^\s+at /.test(line)) ?? [];
  const texts = frames.slice(0, MAX_FRAMES).map((frame) => frame.trim().slice("at ".length));
  return texts.length === 0 ? undefined : texts.join(" < ");
}

/** A value without spaces is left as it is; any other is quoted, so that a program can parse the line. */
function valueText(value: unknown): string {
  const text = typeof value === "number" ? String(Math.round(value * 10) / 10) : String(value);
  const isPlain = text !== "" && !/[\s"=\\]/.test(text);
  return isPlain && text.length <= MAX_TEXT ? text : JSON.stringify(shortened(text));
}

function shortened(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}…`;
}

/** Escapes what breaks a line or changes how a terminal shows it, as JSON does: `\u001b`. */
export function escapeUnprintable(line: string): string {
  return line.replaceAll(
    UNPRINTABLE,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
  );
}
