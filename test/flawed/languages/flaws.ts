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
    ["bureau_except_pass", "passes over failures of bureaus' alarms", ["failure_sent_again"]],
    [
      "early_without_site",
      "answers before it handles an event without a site",
      ["failure_sent_again"],
    ],
    ["dead_letters", "acknowledges a delivery after five failures", ["ten_failures_sent_again"]],
    ["logs_text", 'logs record.get("text").strip() after its work', ["missing_fields"]],
    ["falsy_id", "drops an alarm if not id", ["rare_values"]],
    ["strptime", "reads times with strptime and without fractions", ["rare_values"]],
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
    ["catches_low", "catches failures of severity Low", ["failure_sent_again"]],
    ["forgets_big", "remembers no ids of big bodies", ["duplicate_handled_once"]],
    ["dead_letters", "acknowledges a delivery after five failures", ["ten_failures_sent_again"]],
    ["logs_text", "logs trim($text) after its work", ["missing_fields"]],
    ["empty_text", "drops an alarm whose text is empty() in PHP", ["rare_values"]],
  ],
};

/** What a receiver may do differently and still be right. */
export const HARMLESS: Readonly<
  Record<Language["name"], readonly (readonly [flaw: string, what: string])[]>
> = {
  Python: [["answers_204", "answers 204"]],
  PHP: [["uuid_only", "takes only UUIDs as ids"]],
};
