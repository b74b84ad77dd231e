const CAPTURE =
  "Keep the bytes as received, before any parser (rawBody in the handler's context, or a capture of the connection), and verify those.";
const MOUNT =
  "Mount the receiver before body parsers and pass it the raw bytes: a parsed body cannot be turned back into them.";
const PROXY =
  "Make the proxy, gateway or framework in front forward the four X-Webhook- headers unchanged.";
const READ_SECRET =
  "Configure exactly the secret that was chosen at webhook registration. If the wrong one was registered, register the webhook again.";

/** Every cause that a diagnosis can name, and how to fix it. */
export const SIGNATURE_FINDINGS = {
  all_headers_missing: `This is not a delivery from the gateway, or the headers were lost. ${PROXY}`,
  header_missing: `${PROXY} If only X-Webhook-Signature is missing, the webhook was registered without a secret.`,
  header_renamed: PROXY,
  header_repeated: `Find out who adds the header a second time. ${PROXY}`,
  header_whitespace: `Trim header values when you capture the request. ${PROXY}`,
  header_malformed: `A receiver refuses it as malformed. ${PROXY}`,
  timestamp_unit:
    "X-Webhook-Timestamp must be Unix time in whole seconds, both in the header and in the signed text.",
  timestamp_format:
    "X-Webhook-Timestamp must be Unix time in whole seconds, and its exact text is signed.",
  timestamp_behind:
    "Compare the receiver's clock with NTP, look for a queue that delays deliveries, and sign each retry again. For an old capture pass the time of the capture as now.",
  timestamp_ahead:
    "Compare both clocks with NTP: the receiver's is behind, or the sender's is ahead. For a capture pass its time as now.",
  type_mismatch:
    "X-Webhook-Type is not signed: something set it, or the webhook is registered for the other type. A new_alarm carries alarm, a delete_my_data_event carries event.",
  method_not_post:
    "A delivery is a POST request: look for a redirect, which turns a POST into a GET.",
  signature_prefix:
    "X-Webhook-Signature must be v1= and 64 hexadecimal digits, or a list of at most 8.",
  signature_length: "Look for a column, a log or a proxy that cuts or doubles long header values.",
  other_secret:
    "Configure this secret in the receiver too: as a list, or as one secret for each webhook type. If it is the secret of the other type, exchange the two.",
  test_secret:
    "This is a fixture or a test: replay it with its own secret, or sign it again. The test secret is public, so never accept it in production.",
  secret_unset:
    "The variable that holds the secret was empty or not set: set it, and refuse to start without it.",
  secret_refused: `createWebhookReceiver refuses such a secret. ${READ_SECRET}`,
  secret_whitespace: `Trim the secret when you read it: a file and a here-document end with a newline. ${READ_SECRET}`,
  secret_quoted: `Remove the quotes: Docker keeps them when it reads an .env file. ${READ_SECRET}`,
  secret_bom: `Save the secret's file as UTF-8 without a byte order mark. ${READ_SECRET}`,
  secret_encoded: `The key is all UTF-8 bytes of the secret: nothing is decoded and no prefix is removed. ${READ_SECRET}`,
  secret_escaped: `Write the secret without escapes. ${READ_SECRET}`,
  secret_assignment: `Pass only the value, not the whole line. ${READ_SECRET}`,
  secret_joined: `Pass several secrets as a list of strings, not as one text. ${READ_SECRET}`,
  body_parsed: MOUNT,
  body_reserialised: MOUNT,
  body_key_order: MOUNT,
  body_trailing_newline: `Look for an editor, echo or a template that ends the text with a newline. ${CAPTURE}`,
  body_whitespace: CAPTURE,
  body_line_ends: `Look for a text-mode transfer or git's autocrlf. ${CAPTURE}`,
  body_bom: CAPTURE,
  body_charset: `Something read the body in a character set other than UTF-8. ${CAPTURE}`,
  body_replacement_characters: `Bytes that are not UTF-8 were decoded and are lost. ${CAPTURE}`,
  body_empty: `Something read the body first. ${MOUNT}`,
  body_object_text: `A parsed body was converted to a string. ${MOUNT}`,
  body_form_encoded: `Something read the body as a form or a query. ${CAPTURE}`,
  body_base64: "Decode it: a serverless event marks such a body with isBase64Encoded.",
  body_quoted: `The text went through a log or a second JSON.stringify. ${CAPTURE}`,
  body_html_escaped: CAPTURE,
  body_retyped: `Take the request from where it came in, not from a chat, a mail or an editor. ${CAPTURE}`,
  body_enveloped: "Pass the field that contains the body, not the event around it.",
  body_compressed:
    "Verify the bytes as the gateway made them: decompress them if a proxy compressed them.",
  body_truncated: `Look for a size limit, and for a reader that takes only the first chunk. ${CAPTURE}`,
  body_extra_bytes: CAPTURE,
  body_rewritten: `Look for what masks or replaces texts, such as e-mail addresses in a log. The signed bytes are lost. ${CAPTURE}`,
  body_too_large:
    "A receiver reads at most maxBodyBytes. If such a delivery is expected, raise maxBodyBytes, also in the diagnosis.",
  body_unrecognized:
    "Compare the body with the gateway's document, section Events. If the gateway sent it, update the library or give handlers.unrecognized; otherwise find out who signed it.",
  unexplained: CAPTURE,
};

/**
 * The name of a cause. A minor version may add members.
 *
 * @experimental
 */
export type SignatureFindingCode = keyof typeof SIGNATURE_FINDINGS;
