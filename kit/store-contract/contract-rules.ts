/** The rules that check something before its time ends, so slow calls can come too late for them. */
export const TIMED: readonly string[] = [
  "claim-again-holds",
  "retry-after",
  "takeover",
  "renew",
  "release-fenced",
  "lease-length",
  "retention",
];

/** Whether a rule moves the clock by minutes or days, which only a store with `advance` can do. */
export function needsDays(id: string): boolean {
  return id.endsWith("-days");
}

/** Whether a rule is about the second key of a delivery, which only a store that `remembersRecords` takes. */
export function needsRecords(id: string): boolean {
  return id === "record" || id.startsWith("record-");
}

/** The rules of `DeliveryStore`, by the id of their case. */
export const STORE_RULES = {
  // Claims, takeovers and renewals.
  "claim-exclusive":
    "a claimed key is in flight for every other owner, and its owner can claim it again through any client",
  "claim-again-holds": "a repeated claim holds for a whole lease from then on",
  "retry-after": "retryAfterMs is what is left of the lease, at most rounded up to seconds",
  takeover: "a claim after the lease has ended by the store's clock, and not before, is a takeover",
  "takeover-by-itself": "a claim by the same owner after its lease has ended is a takeover",
  "takeover-remembered": "a claim long after the lease has ended is still a takeover",
  "takeover-again": "a repeated claim of a takeover is a takeover too",
  renew: "a renewed lease holds for its whole length from the renewal",
  "renew-elsewhere": "an owner can renew and release its lease through any client",
  "renew-ended": "an ended lease cannot be renewed",
  "renew-fenced": "an owner cannot renew the lease of another owner",
  "renew-nothing": "a key that is unclaimed, released or completed cannot be renewed",
  release: "a released key can be claimed at once by any client, without a takeover",
  "release-takeover": "after a takeover is released each claim is a takeover until the completion",
  "release-fenced": "an owner cannot release the lease of another owner",
  "release-nothing": "the release of an unclaimed key does nothing",
  // A completion counts from any owner, and nothing undoes it.
  complete: "a completed key stays completed for every client, also for its owner",
  "complete-stays": "neither release, renew nor complete undoes a completion",
  "complete-late": "a completion is accepted after the lease has ended",
  "complete-lost": "a completion is accepted after another owner took over",
  "complete-unclaimed": "a completion is accepted for a key that the store does not know",
  // How long leases and retentions last, and that they end.
  "lease-length": "neither renewals nor repeated claims add up: each counts from its own time",
  "lease-days": "a lease of 15 minutes, claimed or renewed, holds for 14 minutes and ends after 15",
  retention:
    "a completion is forgotten after its retention, counted from the completion, and not before",
  "retention-long": "a retention of 30 days does not end at once",
  "retention-days":
    "a completion is remembered until the last day of its retention, and forgotten then",
  "claims-days":
    "a claim that was never settled is remembered for its retention from the last claim on",
  "takeover-days": "a claim that was never settled is remembered until day 30 of its retention",
  // Rules for two clients that call at the same time.
  "claim-atomic": "of many simultaneous claims by two clients one is granted",
  "takeover-atomic": "of many simultaneous takeovers by two clients one is granted",
  "claim-again-atomic": "of many simultaneous claims those of the holder are granted and no others",
  "complete-atomic": "no claim is granted during a completion",
  "release-atomic": "at most one claim is granted during a release, and it holds",
  "renew-atomic": "a renewal undoes no completion that comes at the same time",
  // Keys and owners are distinguished, whatever their text and however many there are.
  "keys-apart": "similar and awkward keys are distinguished",
  "keys-late": "keys of up to 128 characters that differ in one late character are distinguished",
  "owners-apart": "similar and awkward owners are distinguished",
  "keys-many": "10 000 keys are all remembered",
  sequences: "every sequence of up to four calls agrees with the reference store",
};

/** The rules of `TransactionalStore`, by the id of their case. */
export const TRANSACTION_RULES = {
  // Rules for deliveries that come one after the other.
  commit:
    "a delivery is processed once, also one that writes nothing: its row and its key are committed",
  rollback: "a delivery whose handler fails leaves neither a row nor its key",
  "rollback-error": "process rejects with the very error of the handler, whatever its type",
  "rollback-again":
    "a delivery can fail and be tried again as often as it takes, without using up connections",
  "no-takeover": "neither a first run nor one after a rollback is a takeover",
  retention: "a key is forgotten after its retention, and not before",
  "retention-long": "a retention of 30 days does not end at once",
  "retention-days": "a key is remembered until the last day of its retention, and forgotten then",
  "keys-apart": "similar and awkward keys are distinguished",
  "keys-late": "keys of up to 128 characters that differ in one late character are distinguished",
  "keys-many": "1 500 keys are all remembered",
  // Rules for deliveries that come at the same time.
  open: "while a delivery is processed, the same delivery is in flight or waits",
  "open-own":
    "while a delivery is processed, the same delivery is in flight for its own client too",
  "open-fails": "a delivery that fails while the same delivery comes again is not remembered",
  race: "of many simultaneous deliveries with one key by two clients one is processed",
  apart: "a delivery that fails rolls back its own writes and no others",
  // Rules for a store that remembers records.
  record:
    "a record that was handled is not handled under another key, which is remembered from then on",
  "record-fails": "a delivery whose handler fails leaves neither its key nor that of its record",
  "record-open": "while a record is processed, it is in flight under another key, or waits",
  "record-race": "of many simultaneous deliveries of one record by two clients one is processed",
};
