import type { BodyReading, CapturedBody } from "./captured-body.js";

/** The body taken out of a form, an event or a record, or put back into one. */
export function* bodyWrappings({ text, json }: CapturedBody): Generator<BodyReading> {
  if (text === undefined) return;
  yield* percentEncoded(text);
  yield* formEncoded(text);
  yield* enveloped(json);
  yield* unwrapped(text, json);
}

function* percentEncoded(text: string): Generator<BodyReading> {
  const code = "body_percent_encoded";
  if (/^(?:%[0-9a-f]{2}|\+)/i.test(text)) {
    const message = "The captured body is percent-encoded; it was signed without the encoding.";
    for (const one of percentDecodings(text.replace(/=$/, ""))) {
      yield { body: Buffer.from(one, "utf8"), code, message };
    }
  }
  let encoded: string;
  try {
    encoded = encodeURIComponent(text);
  } catch {
    return;
  }
  const message = "The signature is over the percent-encoded body.";
  yield { body: Buffer.from(encoded, "utf8"), code, message };
}

function* formEncoded(text: string): Generator<BodyReading> {
  const code = "body_form_encoded";
  const field = /^[A-Za-z_][A-Za-z0-9_.[\]-]{0,63}=(.+)$/s.exec(text)?.[1];
  if (field !== undefined) {
    const message = "The captured body is a form; the value of its field was signed.";
    for (const one of [field, ...percentDecodings(field)]) {
      yield { body: Buffer.from(one, "utf8"), code, message };
    }
  }
  if (text.endsWith("=")) {
    const message = "The captured body has the = of a form at its end.";
    yield { body: Buffer.from(text.slice(0, -1), "utf8"), code, message };
  }
}

function percentDecodings(text: string): readonly string[] {
  try {
    return [decodeURIComponent(text.replaceAll("+", " ")), decodeURIComponent(text)];
  } catch {
    return [];
  }
}

/** The body inside a serverless event, or inside an object where a form parser made the body a field name. */
function* enveloped(json: unknown): Generator<BodyReading> {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return;
  const entries = Object.entries(json);
  const [only] = entries;
  if (entries.length === 1 && only?.[1] === "") {
    yield {
      body: Buffer.from(only[0], "utf8"),
      code: "body_form_encoded",
      message: "A form parser made the whole body the name of a field.",
    };
  }
  const code = "body_enveloped";
  for (const [name, value] of entries) {
    if (
      typeof value !== "string" ||
      !/^(?:raw_?|request_?)?(?:body|payload|data|message)$/i.test(name)
    ) {
      continue;
    }
    const message = "The body is a field of the event that was captured, not the event.";
    yield { body: Buffer.from(value, "utf8"), code, message };
    const decoded = "The body is a field of the event that was captured, in base64.";
    yield { body: Buffer.from(value, "base64"), code, message: decoded };
  }
}

/** The record without its wrapper: the gateway sends `{ "alarm": … }` or `{ "event": … }`. */
function* unwrapped(text: string, json: unknown): Generator<BodyReading> {
  if (typeof json !== "object" || json === null) return;
  for (const name of ["alarm", "event"]) {
    if (Object.hasOwn(json, name)) continue;
    for (const one of [`{"${name}":${text}}`, `{"${name}": ${text}}`]) {
      yield {
        body: Buffer.from(one, "utf8"),
        code: "body_unwrapped",
        message: `The captured body is the record alone, without the object that has it as ${name}.`,
      };
    }
  }
}
