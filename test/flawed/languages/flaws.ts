import type { Language } from "./language.js";

/** One thing that a receiver does wrong. */
export interface LanguageFlaw {
  /** The value of `FLAW`. */
  readonly flaw: string;
  /** What the receiver does, after "a receiver that". */
  readonly what: string;
  /** The ids of the cases that must fail. */
  readonly cases: readonly string[];
}

/** Flaws in the words of each language. */
export const FLAWS: Readonly<Record<Language["name"], readonly LanguageFlaw[]>> = {
  Python: [
    {
      flaw: "reserialized",
      what: "verifies json.dumps(json.loads(body))",
      cases: ["exact_bytes", "other_bytes"],
    },
    {
      flaw: "decode_ignore",
      what: 'verifies body.decode("utf-8", "ignore")',
      cases: ["other_bytes_same_text"],
    },
    {
      flaw: "decode_replace",
      what: 'verifies body.decode("utf-8", "replace")',
      cases: ["other_bytes_same_text"],
    },
    { flaw: "int_timestamp", what: "signs str(int(timestamp))", cases: ["timestamp_text"] },
    {
      flaw: "empty_old_secret",
      what: 'also tries os.environ.get("OLD", "")',
      cases: ["guessable_secret"],
    },
    {
      flaw: "none_secret",
      what: 'also tries str(os.environ.get("OLD"))',
      cases: ["guessable_secret"],
    },
    {
      flaw: "answers_signature",
      what: "answers the signature that it expected",
      cases: ["leaked_signature"],
    },
    {
      flaw: "module_variable",
      what: "keeps the id in a variable of the module",
      cases: ["concurrent_deliveries"],
    },
    {
      flaw: "check_then_act",
      what: "looks the id up and writes it later",
      cases: ["concurrent_duplicates_handled_once"],
    },
    {
      flaw: "content_length_only",
      what: "reads Content-Length bytes, and none of a chunked body",
      cases: ["chunked"],
    },
    {
      flaw: "startswith",
      what: "compares with expected.startswith(given)",
      cases: ["partial_signature", "unsigned"],
    },
    {
      flaw: "forbids_unknown_fields",
      what: 'validates with extra="forbid"',
      cases: ["unknown_fields"],
    },
    {
      flaw: "marks_before_handling",
      what: "remembers the id before the handler has finished",
      cases: ["failure_sent_again"],
    },
    {
      flaw: "background_thread",
      what: "answers 200 and handles in a thread",
      cases: ["failure_sent_again"],
    },
    {
      flaw: "forgets_after_five",
      what: "remembers the last five ids",
      cases: ["duplicate_after_others"],
    },
    {
      flaw: "timedelta_seconds",
      what: "takes timedelta.seconds, which leaves out the days",
      cases: ["stale", "future"],
    },
    {
      flaw: "sorted_digits",
      what: "compares sorted(signature)",
      cases: ["partial_signature"],
    },
    {
      flaw: "lower_base64",
      what: "compares base64 in lower case",
      cases: ["partial_signature"],
    },
  ],
  Go: [
    { flaw: "reencoded", what: "verifies json.Compact of the body", cases: ["exact_bytes"] },
    {
      flaw: "empty_secret",
      what: 'also tries os.Getenv("OLD")',
      cases: ["guessable_secret"],
    },
    {
      flaw: "body_only",
      what: "also accepts a signature over the body alone",
      cases: ["other_signature_schemes"],
    },
    { flaw: "limit_64k", what: "reads the first 64 KiB", cases: ["big_alarm"] },
    {
      flaw: "acknowledges_big",
      what: "acknowledges and drops a body over its limit",
      cases: ["oversize", "big_forgery"],
    },
    {
      flaw: "check_then_act",
      what: "unlocks between the look-up and the write",
      cases: ["concurrent_duplicates_handled_once"],
    },
    {
      flaw: "goroutine",
      what: "answers 200 and handles in a goroutine",
      cases: ["failure_sent_again"],
    },
    {
      flaw: "disallows_unknown_fields",
      what: "decodes with DisallowUnknownFields",
      cases: ["unknown_fields"],
    },
    {
      flaw: "answers_401",
      what: "answers 401 to what it cannot verify",
      cases: ["wrong_secret_sent_again", "unsigned_sent_again", "rewritten_body_sent_again"],
    },
    {
      flaw: "package_variable",
      what: "keeps the id in a variable of the package",
      cases: ["concurrent_deliveries"],
    },
    { flaw: "int32_ids", what: "decodes ids into int32", cases: ["odd_values"] },
    { flaw: "ten_seconds", what: "tolerates ten seconds", cases: ["minute_old"] },
    { flaw: "type_header", what: "believes X-Webhook-Type", cases: ["type_flip"] },
    {
      flaw: "trims_body",
      what: "verifies bytes.TrimSpace(body)",
      cases: ["exact_bytes", "other_bytes"],
    },
    {
      flaw: "lower_case_ids",
      what: "remembers strings.ToLower(id)",
      cases: ["duplicate_handled_once"],
    },
    {
      flaw: "forgets_after_500ms",
      what: "remembers an id for 500 ms",
      cases: ["duplicate_after_others"],
    },
    { flaw: "int32_age", what: "computes the age as int32", cases: ["future"] },
    {
      flaw: "sum_of_differences",
      what: "adds up the differences of the bytes",
      cases: ["partial_signature"],
    },
    {
      flaw: "equal_fold_base64",
      what: "compares base64 with strings.EqualFold",
      cases: ["partial_signature"],
    },
  ],
  PHP: [
    {
      flaw: "reencoded",
      what: "verifies json_encode(json_decode($body))",
      cases: ["exact_bytes", "other_bytes"],
    },
    {
      flaw: "getenv_false",
      what: 'also tries getenv("OLD"), which is false',
      cases: ["guessable_secret"],
    },
    {
      flaw: "first_eight",
      what: "compares eight digits with strncmp",
      cases: ["partial_signature"],
    },
    { flaw: "intval_timestamp", what: "signs intval($timestamp)", cases: ["timestamp_text"] },
    {
      flaw: "file_race",
      what: "checks file_exists and touches the file later",
      cases: ["concurrent_duplicates_handled_once"],
    },
    {
      flaw: "acknowledges_exceptions",
      what: "catches Throwable and answers 200",
      cases: ["failure_sent_again"],
    },
    {
      flaw: "json_error_400",
      what: "answers 400 to JSON that it cannot decode",
      cases: ["unreadable_body", "invalid_utf8"],
    },
    {
      flaw: "iconv_ignore",
      what: 'verifies iconv("UTF-8", "UTF-8//IGNORE", $body)',
      cases: ["other_bytes_same_text"],
    },
    { flaw: "trims_body", what: "verifies trim($body)", cases: ["exact_bytes", "other_bytes"] },
    {
      flaw: "sixteen_characters",
      what: "remembers 16 characters of an id",
      cases: ["duplicate_handled_once"],
    },
    {
      flaw: "answers_signature",
      what: "puts the signature that it expected into a header",
      cases: ["leaked_signature"],
    },
    { flaw: "limit_64k", what: "reads the first 64 KiB", cases: ["big_alarm"] },
    {
      flaw: "ignores_missing_signature",
      what: "verifies a signature only if there is one",
      cases: ["unsigned"],
    },
    {
      flaw: "answers_401",
      what: "answers 401 to what it cannot verify",
      cases: ["wrong_secret_sent_again", "unsigned_sent_again", "rewritten_body_sent_again"],
    },
    {
      flaw: "severity_enum",
      what: "answers 422 to a severity that it does not know",
      cases: ["unknown_values"],
    },
    {
      flaw: "marks_before_handling",
      what: "touches the file before the handler has finished",
      cases: ["failure_sent_again"],
    },
    {
      flaw: "date_interval",
      what: "compares $interval->h and $interval->i without the days",
      cases: ["stale", "future"],
    },
    {
      flaw: "strcasecmp_base64",
      what: "compares base64 with strcasecmp",
      cases: ["partial_signature"],
    },
    { flaw: "count_chars", what: "compares count_chars", cases: ["partial_signature"] },
  ],
  Ruby: [
    {
      flaw: "reserialized",
      what: "verifies JSON.generate(JSON.parse(body))",
      cases: ["exact_bytes", "other_bytes"],
    },
    {
      flaw: "nil_secret",
      what: 'also tries ENV["OLD"].to_s',
      cases: ["guessable_secret"],
    },
    {
      flaw: "start_with",
      what: "compares with expected.start_with?(given)",
      cases: ["partial_signature", "unsigned"],
    },
    { flaw: "to_i_timestamp", what: "signs timestamp.to_i", cases: ["timestamp_text"] },
    { flaw: "scrubs", what: "verifies body.scrub", cases: ["other_bytes_same_text"] },
    { flaw: "scrubs_away", what: 'verifies body.scrub("")', cases: ["other_bytes_same_text"] },
    {
      flaw: "rescues_to_200",
      what: "rescues each error and answers 200",
      cases: ["failure_sent_again"],
    },
    {
      flaw: "background_thread",
      what: "answers 200 and handles in a Thread",
      cases: ["failure_sent_again"],
    },
    {
      flaw: "check_then_add",
      what: "looks into a Set and adds later",
      cases: ["concurrent_duplicates_handled_once"],
    },
    {
      flaw: "global_variable",
      what: "keeps the id in a global variable",
      cases: ["concurrent_deliveries"],
    },
    {
      flaw: "halts_401",
      what: "answers 401 to what it cannot verify",
      cases: ["wrong_secret_sent_again", "unsigned_sent_again", "rewritten_body_sent_again"],
    },
    {
      flaw: "fetches_known_keys",
      what: "answers 422 to a field that it does not know",
      cases: ["unknown_fields"],
    },
    {
      flaw: "downcases_ids",
      what: "remembers id.downcase",
      cases: ["duplicate_handled_once"],
    },
    {
      flaw: "acknowledges_in_flight",
      what: "acknowledges a duplicate in flight, whose handler then fails",
      cases: ["failure_sent_again"],
    },
    {
      flaw: "event_enum",
      what: "answers 422 to an event type that it does not know",
      cases: ["unknown_event_type"],
    },
    {
      flaw: "remembers_failed",
      what: "remembers an id whose handler failed",
      cases: ["failure_sent_again"],
    },
    {
      flaw: "time_of_day",
      what: "compares the time of day without the date",
      cases: ["stale", "future"],
    },
    { flaw: "string_sum", what: "compares String#sum", cases: ["partial_signature"] },
    { flaw: "tally", what: "compares each_char.tally", cases: ["partial_signature"] },
  ],
};

/** What a receiver may do differently and still be right. */
export const HARMLESS: Readonly<
  Record<Language["name"], readonly Pick<LanguageFlaw, "flaw" | "what">[]>
> = {
  Python: [{ flaw: "answers_204", what: "answers 204" }],
  Go: [{ flaw: "answers_202", what: "answers 202" }],
  PHP: [{ flaw: "uuid_only", what: "takes only UUIDs as ids" }],
  Ruby: [],
};
