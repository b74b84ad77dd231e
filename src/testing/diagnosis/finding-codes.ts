const CAPTURE =
  "Keep the bytes as they came, before any parser (rawBody of a handler's context, or a capture of the connection), and verify those.";
const MOUNT =
  "Mount the receiver before body parsers and give it the raw bytes: a parsed body cannot be turned back into them.";
const PROXY =
  "Have the proxy, gateway or framework in front pass the four X-Webhook- headers on as they came.";
const READ_SECRET =
  "Set it where the secret is read to exactly what was chosen at webhook registration; if the odd one was registered, register the webhook anew.";
const STUB =
  "The gateway does not sign so (GATEWAY.md, Authentication, rule 7): sign with signDelivery, or find out who sent this.";

/** Every cause that a diagnosis can name, and how it is mended. The codes are stable. */
export const FINDING_CODES = {
  all_headers_missing: `This is no delivery of the gateway, or the headers were lost. ${PROXY}`,
  header_missing: `${PROXY} Without X-Webhook-Signature: the webhook was registered without a secret.`,
  header_renamed: PROXY,
  header_repeated: `Find out who adds the header a second time. ${PROXY}`,
  header_whitespace: `Trim header values where the capture is made. ${PROXY}`,
  header_malformed: `A receiver refuses it as malformed. ${PROXY}`,
  headers_swapped: "Put X-Webhook-Id and X-Webhook-Timestamp back in their places.",
  id_respelled: `The signature covers the exact text of X-Webhook-Id. ${PROXY}`,
  timestamp_unit:
    "X-Webhook-Timestamp is Unix time in whole seconds, in the header and when signing.",
  timestamp_format:
    "X-Webhook-Timestamp is Unix time in whole seconds, and its exact text is signed.",
  timestamp_behind:
    "Compare the receiver's clock with NTP, look for a queue that holds deliveries up, and let a retry be signed anew. For an old capture give the moment of capture as now.",
  timestamp_ahead:
    "Compare both clocks with NTP: the receiver's is behind, or the sender's is ahead. For a capture give its moment as now.",
  type_mismatch:
    "X-Webhook-Type is not signed: something set it, or the webhook is registered for the other type. A new_alarm carries alarm, a delete_my_data_event carries event.",
  method_not_post: "A delivery is a POST: look for a redirect, which turns a POST into a GET.",
  signature_prefix: "X-Webhook-Signature is v1= and 64 hexadecimal digits, and nothing else.",
  signature_encoding: "Write the digest in hexadecimal, not in base64.",
  signature_length: "Look for a column, a log or a proxy that cuts or doubles long header values.",
  other_scheme: STUB,
  other_digest: STUB,
  other_secret: "Give the receiver this secret too: as a list, or one for each webhook type.",
  test_secret:
    "This is a fixture or a test: replay it with its own secret, or sign it anew. The test secret is public, so never accept it in production.",
  secret_unset:
    "The variable that holds the secret was empty or not set: set it, and refuse to start without.",
  secret_refused: `A receiver refuses such a secret when it is made. ${READ_SECRET}`,
  secret_whitespace: `Trim the secret where it is read: a file and a here-document end with a newline. ${READ_SECRET}`,
  secret_quoted: `Take the quotes away: an .env file read by Docker keeps them. ${READ_SECRET}`,
  secret_bom: `Save the secret's file as UTF-8 without a byte order mark. ${READ_SECRET}`,
  secret_encoded: `The key is the secret's UTF-8 bytes, whole: nothing is decoded and no prefix taken off. ${READ_SECRET}`,
  secret_escaped: `Write the secret without escapes. ${READ_SECRET}`,
  secret_letter_case: READ_SECRET,
  secret_charset: `Read the secret as UTF-8, and do not normalise it. ${READ_SECRET}`,
  secret_assignment: "Pass what stands behind the equals sign, not the whole line.",
  secret_long: `Look whether another file was read in the place of the secret. ${READ_SECRET}`,
  secret_joined: "Pass several secrets as a list of strings, not as one text.",
  body_parsed: MOUNT,
  body_reserialised: MOUNT,
  body_escapes: MOUNT,
  body_key_order: MOUNT,
  body_trailing_newline: `Look for an editor, echo or a template that ends the text with a newline. ${CAPTURE}`,
  body_whitespace: CAPTURE,
  body_line_ends: `Look for a text-mode transfer or git's autocrlf. ${CAPTURE}`,
  body_bom: CAPTURE,
  body_utf16: `The shell or editor wrote UTF-16, as ">" of Windows PowerShell does. ${CAPTURE}`,
  body_charset: `Something read the body in another character set than UTF-8. ${CAPTURE}`,
  body_normalised: `Something normalised the Unicode text. ${CAPTURE}`,
  body_replacement_characters: `Bytes that are no UTF-8 were decoded and are lost. ${CAPTURE}`,
  body_empty: `Something read the body first. ${MOUNT}`,
  body_object_text: `A parsed body was made a string. ${MOUNT}`,
  body_percent_encoded: `Something took the body for a form or a query. ${CAPTURE}`,
  body_form_encoded: `Something took the body for a form. ${CAPTURE}`,
  body_base64: "Decode it: a serverless event says so with isBase64Encoded.",
  body_hex: CAPTURE,
  body_bytes_listed: "Make the listed numbers bytes again, as with Buffer.from, before verifying.",
  body_quoted: `The text went through a log or a second JSON.stringify. ${CAPTURE}`,
  body_html_escaped: CAPTURE,
  body_enveloped: "Pass on the field that holds the body, not the event around it.",
  body_unwrapped: "Verify the whole body, not the record inside it.",
  body_compressed:
    "Verify the bytes as the gateway made them: decompressed, where a proxy compressed.",
  body_chunked: "Take the chunk sizes of Transfer-Encoding out: they are not part of the body.",
  body_truncated: `Look for a size limit, and for a reader that takes the first piece alone. ${CAPTURE}`,
  body_extra_bytes: CAPTURE,
  body_too_large:
    "A receiver reads no more than its maxBodyBytes. Where such a delivery is expected, raise maxBodyBytes, in the diagnosis too.",
  body_signed_empty: "The sender signed before it had the body: sign the bytes that are sent.",
  unexplained: CAPTURE,
} as const satisfies Record<string, string>;

/** Stable name of a cause. */
export type FindingCode = keyof typeof FINDING_CODES;
