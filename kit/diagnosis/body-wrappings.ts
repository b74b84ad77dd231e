import type { CapturedBody } from "./captured-body.js";
import { percentDecoded, percentEncoded, type Changes } from "./changes.js";

/** A form, an event or a record that the body is taken out of, or put back into. */
export const BODY_WRAPPINGS: Changes<CapturedBody> = {
  body_percent_encoded: {
    "The captured body is percent-encoded; it was signed without the encoding.": ({ text = "" }) =>
      /^(?:%[0-9a-f]{2}|\+)/i.test(text) ? percentDecoded(text.replace(/=$/, "")) : undefined,
    "The signature is over the percent-encoded body.": ({ text }) =>
      text === undefined ? undefined : percentEncoded(text),
  },
  body_form_encoded: {
    "The captured body is a form; the value of its field was signed.": ({ text = "" }) => {
      const field = /^[A-Za-z_][A-Za-z0-9_.[\]-]{0,63}=(.+)$/s.exec(text)?.[1];
      return field === undefined ? undefined : [field, ...percentDecoded(field)];
    },
    "The captured body has the = of a form at its end.": ({ text = "" }) =>
      text.endsWith("=") ? text.slice(0, -1) : undefined,
    "A form parser made the whole body the name of a field.": ({ json }) => {
      const [only, ...others] = entriesOf(json);
      return others.length === 0 && only?.[1] === "" ? only[0] : undefined;
    },
  },
  body_enveloped: {
    "The body is a field of the event that was captured, not the event.": ({ json }) =>
      bodyFields(json),
    "The body is a field of the event that was captured, in base64.": ({ json }) =>
      bodyFields(json).map((field) => Buffer.from(field, "base64")),
  },
  body_unwrapped: {
    "The captured body is the record alone, without the object that has it as alarm.": (body) =>
      wrapped("alarm", body),
    "The captured body is the record alone, without the object that has it as event.": (body) =>
      wrapped("event", body),
  },
};

function entriesOf(json: unknown): readonly (readonly [name: string, value: unknown])[] {
  const isObject = typeof json === "object" && json !== null && !Array.isArray(json);
  return isObject ? Object.entries(json) : [];
}

/** The texts of a serverless event that may be its body. */
function bodyFields(json: unknown): readonly string[] {
  return entriesOf(json).flatMap(([name, value]) => {
    const isBody = /^(?:raw_?|request_?)?(?:body|payload|data|message)$/i.test(name);
    return isBody && typeof value === "string" ? [value] : [];
  });
}

/** The record in its wrapper: the gateway sends `{ "alarm": … }` or `{ "event": … }`. */
function wrapped(name: string, { text = "", json }: CapturedBody): readonly string[] {
  if (typeof json !== "object" || json === null || Object.hasOwn(json, name)) return [];
  return [`{"${name}":${text}}`, `{"${name}": ${text}}`];
}
