import type { Language } from "./language.js";

/** One thing that a receiver does wrong. */
export type LanguageFlaw = readonly [
  /** The value of `FLAW`. */
  flaw: string,
  /** What the receiver does, after "a receiver that". */
  what: string,
  /** The ids of the cases that must fail. */
  cases: readonly string[],
];

/** Flaws in the words of each language. */
export const FLAWS: Readonly<Record<Language["name"], readonly LanguageFlaw[]>> = {
  Python: [
    ["reserialized", "verifies json.dumps(json.loads(body))", ["exact_bytes", "other_bytes"]],
    ["decode_ignore", 'verifies body.decode("utf-8", "ignore")', ["other_bytes_same_text"]],
    ["decode_replace", 'verifies body.decode("utf-8", "replace")', ["other_bytes_same_text"]],
    ["int_timestamp", "signs str(int(timestamp))", ["timestamp_text"]],
    ["empty_old_secret", 'also tries os.environ.get("OLD", "")', ["guessable_secret"]],
    ["none_secret", 'also tries str(os.environ.get("OLD"))', ["guessable_secret"]],
    ["answers_signature", "answers the signature that it expected", ["leaked_signature"]],
    ["module_variable", "keeps the id in a variable of the module", ["concurrent_deliveries"]],
    [
      "check_then_act",
      "looks the id up and writes it later",
      ["concurrent_duplicates_handled_once"],
    ],
    ["content_length_only", "reads Content-Length bytes, and none of a chunked body", ["chunked"]],
    ["startswith", "compares with expected.startswith(given)", ["partial_signature", "unsigned"]],
    ["forbids_unknown_fields", 'validates with extra="forbid"', ["unknown_fields"]],
    [
      "marks_before_handling",
      "remembers the id before the handler has finished",
      ["failure_sent_again"],
    ],
    ["background_thread", "answers 200 and handles in a thread", ["failure_sent_again"]],
    ["forgets_after_five", "remembers the last five ids", ["duplicate_after_others"]],
    [
      "timedelta_seconds",
      "takes timedelta.seconds, which leaves out the days",
      ["stale", "future"],
    ],
    ["sorted_digits", "compares sorted(signature)", ["partial_signature"]],
    ["lower_base64", "compares base64 in lower case", ["partial_signature"]],
  ],
  Go: [
    ["reencoded", "verifies json.Compact of the body", ["exact_bytes"]],
    ["empty_secret", 'also tries os.Getenv("OLD")', ["guessable_secret"]],
    ["body_only", "also accepts a signature over the body alone", ["other_signature_schemes"]],
    ["limit_64k", "reads the first 64 KiB", ["big_alarm"]],
    [
      "acknowledges_big",
      "acknowledges and drops a body over its limit",
      ["oversize", "big_forgery"],
    ],
    [
      "check_then_act",
      "unlocks between the look-up and the write",
      ["concurrent_duplicates_handled_once"],
    ],
    ["goroutine", "answers 200 and handles in a goroutine", ["failure_sent_again"]],
    ["disallows_unknown_fields", "decodes with DisallowUnknownFields", ["unknown_fields"]],
    [
      "answers_401",
      "answers 401 to what it cannot verify",
      ["wrong_secret_sent_again", "unsigned_sent_again", "rewritten_body_sent_again"],
    ],
    ["package_variable", "keeps the id in a variable of the package", ["concurrent_deliveries"]],
    ["int32_ids", "decodes ids into int32", ["odd_values"]],
    ["ten_seconds", "tolerates ten seconds", ["minute_old"]],
    ["type_header", "believes X-Webhook-Type", ["type_flip"]],
    ["trims_body", "verifies bytes.TrimSpace(body)", ["exact_bytes", "other_bytes"]],
    ["lower_case_ids", "remembers strings.ToLower(id)", ["duplicate_handled_once"]],
    ["forgets_after_500ms", "remembers an id for 500 ms", ["duplicate_after_others"]],
    ["int32_age", "computes the age as int32", ["future"]],
    ["sum_of_differences", "adds up the differences of the bytes", ["partial_signature"]],
    ["equal_fold_base64", "compares base64 with strings.EqualFold", ["partial_signature"]],
  ],
  PHP: [
    ["reencoded", "verifies json_encode(json_decode($body))", ["exact_bytes", "other_bytes"]],
    ["getenv_false", 'also tries getenv("OLD"), which is false', ["guessable_secret"]],
    ["first_eight", "compares eight digits with strncmp", ["partial_signature"]],
    ["intval_timestamp", "signs intval($timestamp)", ["timestamp_text"]],
    [
      "file_race",
      "checks file_exists and touches the file later",
      ["concurrent_duplicates_handled_once"],
    ],
    ["acknowledges_exceptions", "catches Throwable and answers 200", ["failure_sent_again"]],
    [
      "json_error_400",
      "answers 400 to JSON that it cannot decode",
      ["unreadable_body", "invalid_utf8"],
    ],
    ["iconv_ignore", 'verifies iconv("UTF-8", "UTF-8//IGNORE", $body)', ["other_bytes_same_text"]],
    ["trims_body", "verifies trim($body)", ["exact_bytes", "other_bytes"]],
    ["sixteen_characters", "remembers 16 characters of an id", ["duplicate_handled_once"]],
    [
      "answers_signature",
      "puts the signature that it expected into a header",
      ["leaked_signature"],
    ],
    ["limit_64k", "reads the first 64 KiB", ["big_alarm"]],
    ["ignores_missing_signature", "verifies a signature only if there is one", ["unsigned"]],
    [
      "answers_401",
      "answers 401 to what it cannot verify",
      ["wrong_secret_sent_again", "unsigned_sent_again", "rewritten_body_sent_again"],
    ],
    ["severity_enum", "answers 422 to a severity that it does not know", ["unknown_values"]],
    [
      "marks_before_handling",
      "touches the file before the handler has finished",
      ["failure_sent_again"],
    ],
    [
      "date_interval",
      "compares $interval->h and $interval->i without the days",
      ["stale", "future"],
    ],
    ["strcasecmp_base64", "compares base64 with strcasecmp", ["partial_signature"]],
    ["count_chars", "compares count_chars", ["partial_signature"]],
  ],
  Ruby: [
    ["reserialized", "verifies JSON.generate(JSON.parse(body))", ["exact_bytes", "other_bytes"]],
    ["nil_secret", 'also tries ENV["OLD"].to_s', ["guessable_secret"]],
    ["start_with", "compares with expected.start_with?(given)", ["partial_signature", "unsigned"]],
    ["to_i_timestamp", "signs timestamp.to_i", ["timestamp_text"]],
    ["scrubs", "verifies body.scrub", ["other_bytes_same_text"]],
    ["scrubs_away", 'verifies body.scrub("")', ["other_bytes_same_text"]],
    ["rescues_to_200", "rescues each error and answers 200", ["failure_sent_again"]],
    ["background_thread", "answers 200 and handles in a Thread", ["failure_sent_again"]],
    ["check_then_add", "looks into a Set and adds later", ["concurrent_duplicates_handled_once"]],
    ["global_variable", "keeps the id in a global variable", ["concurrent_deliveries"]],
    [
      "halts_401",
      "answers 401 to what it cannot verify",
      ["wrong_secret_sent_again", "unsigned_sent_again", "rewritten_body_sent_again"],
    ],
    ["fetches_known_keys", "answers 422 to a field that it does not know", ["unknown_fields"]],
    ["downcases_ids", "remembers id.downcase", ["duplicate_handled_once"]],
    [
      "acknowledges_in_flight",
      "acknowledges a duplicate in flight, whose handler then fails",
      ["failure_sent_again"],
    ],
    ["event_enum", "answers 422 to an event type that it does not know", ["unknown_event_type"]],
    ["remembers_failed", "remembers an id whose handler failed", ["failure_sent_again"]],
    ["time_of_day", "compares the time of day without the date", ["stale", "future"]],
    ["string_sum", "compares String#sum", ["partial_signature"]],
    ["tally", "compares each_char.tally", ["partial_signature"]],
  ],
};

/** What a receiver may do differently and still be right. */
export const HARMLESS: Readonly<
  Record<Language["name"], readonly (readonly [flaw: string, what: string])[]>
> = {
  Python: [["answers_204", "answers 204"]],
  Go: [["answers_202", "answers 202"]],
  PHP: [["uuid_only", "takes only UUIDs as ids"]],
  Ruby: [],
};
