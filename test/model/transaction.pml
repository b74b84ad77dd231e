/*
 * A TransactionalStore and once: "record": the handler's writes and the memory of the id and of the record are one
 * transaction. Requests 0 and 2 have one delivery id, request 1 has another, and all carry the same record. Each
 * request is to a process of its own. complete is COMMIT, release is ROLLBACK. Both keys are tried in one step: neither
 * waits, so whoever gets one key and not the other leaves nothing behind.
 */
#include "common.pml"

mtype = { send, apply, arrive, refuse, lose, ok, fail, wait, kill, end };
mtype = { idle, claiming, claim_answer, running, committing, commit_answer, rolling, roll_answer };
mtype = { free, locked, completed, claimed, in_flight, lost_lease };
mtype = { first_run, handled, duplicate, failed, unavailable, timed_out };
mtype = { acknowledged_was_committed, committed_once, one_at_a_time };

#define RECORD 2
#define ID(s) (s == 1 -> 1 : 0)

/* The rows of the store: two ids and the record. */
mtype row[3] = free;
byte owner[3];

mtype at[N] = idle;
mtype result[N] = none;
mtype due[N] = none; /* the answer after the rollback */
bool answered[N];
bool is_lost[N];     /* the server has ended its transaction */

byte commits;
bool acked[2];

inline reply(s, outcome) { said = (answered[s] -> none : outcome); answered[s] = true }

inline acknowledge(s, outcome) {
  reply(s, outcome);
  if
  :: said != none ->
     HOLDS(acknowledged_was_committed, commits > 0);
     acked[ID(s)] = true
  :: else
  fi
}

inline reset(s) { at[s] = idle; result[s] = none; due[s] = none; answered[s] = false; is_lost[s] = false }

/* Whether request s has the lock on a row. */
#define HAS(s, k) (row[k] == locked && owner[k] == s)

inline free_row(s, k, left) {
  if :: HAS(s, k) -> row[k] = left; owner[k] = 0 :: else fi
}

inline roll_back(s) {
  free_row(s, ID(s), (BUG == 4 -> completed : free));
  free_row(s, RECORD, free)
}

inline lock(s) { row[ID(s)] = locked; owner[ID(s)] = s; row[RECORD] = locked; owner[RECORD] = s; result[s] = claimed }

inline store_claim(s) {
  if
  :: row[ID(s)] == completed -> result[s] = completed
  :: row[ID(s)] == locked -> result[s] = (BUG == 2 -> completed : in_flight)
  :: row[ID(s)] == free && row[RECORD] == free -> lock(s)
  :: row[ID(s)] == free && row[RECORD] == completed ->
     result[s] = completed; row[ID(s)] = completed
  :: row[ID(s)] == free && row[RECORD] == locked ->
     if
     :: BUG == 3 -> lock(s)
     :: else -> result[s] = (BUG == 6 -> completed : in_flight)
     fi
  fi
}

inline store_commit(s) {
  if
  :: HAS(s, ID(s)) ->
     free_row(s, ID(s), completed);
     free_row(s, RECORD, (BUG == 1 -> free : completed));
     HOLDS(committed_once, commits == 0); commits = 1
  :: else -> result[s] = lost_lease
  fi
}

inline begin(s) {
  for (i : 0 .. N - 1) {
    if :: i != s && at[i] == running -> HOLDS(one_at_a_time, is_lost[i] || is_lost[s]) :: else fi
  }
  at[s] = running; said = first_run
}

/* A call has failed: it is rolled back, and then the delivery is answered. */
inline give_up(s, outcome) {
  if
  :: BUG == 5 && (at[s] == committing || at[s] == commit_answer) -> acknowledge(s, handled); reset(s)
  :: else -> at[s] = rolling; due[s] = outcome; result[s] = none
  fi
}

active [N] proctype Request() UNTIL_DONE {
  byte s = _pid;
end_quiet:
  do
  :: d_step { at[s] == idle && (!acked[ID(s)] || FAULT) ->
       if :: acked[ID(s)] && !WALKING -> faults++ :: else fi;
       at[s] = claiming; STEP(send, s, none) }
  :: d_step { at[s] == claiming -> store_claim(s); at[s] = claim_answer; STEP(apply, s, result[s]) }
  :: d_step { at[s] == committing -> store_commit(s); at[s] = commit_answer; STEP(apply, s, result[s]) }
  :: d_step { at[s] == rolling -> roll_back(s); at[s] = roll_answer; STEP(apply, s, none) }
  :: d_step { at[s] == claim_answer ->
       if
       :: result[s] == claimed -> begin(s)
       :: result[s] == in_flight -> reply(s, in_flight); reset(s)
       :: else -> acknowledge(s, duplicate); reset(s)
       fi;
       result[s] = none; STEP(arrive, s, none) }
  :: d_step { at[s] == commit_answer ->
       if
       :: result[s] == lost_lease -> give_up(s, unavailable)
       :: else -> acknowledge(s, handled); reset(s)
       fi;
       STEP(arrive, s, none) }
  :: d_step { at[s] == roll_answer -> reply(s, due[s]); reset(s); STEP(arrive, s, none) }
  :: d_step { at[s] == running -> at[s] = committing; STEP(ok, s, none) }
  :: d_step { at[s] == running && (WALKING || FAULT) ->
       faults = (WALKING -> faults : faults + 1); give_up(s, failed); STEP(fail, s, none) }
  :: d_step { at[s] == running && !answered[s] -> reply(s, timed_out); STEP(wait, s, none) }
  :: d_step { FAULT && (at[s] == claiming || at[s] == committing) ->
       faults++; give_up(s, unavailable); STEP(refuse, s, none) }
  :: d_step { FAULT && (at[s] == claim_answer || at[s] == commit_answer) ->
       faults++; give_up(s, unavailable); STEP(lose, s, none) }
  :: d_step { FAULT && at[s] != idle && OFTEN_ENOUGH -> faults++; roll_back(s); reset(s); STEP(kill, s, none) }
  od
}

active proctype Server() UNTIL_DONE {
end_quiet:
  do
  :: d_step { FAULT && row[RECORD] == locked && (at[owner[RECORD]] == running || at[owner[RECORD]] == committing) ->
       faults++; i = owner[RECORD]; is_lost[i] = true; roll_back(i); STEP(end, i, none) }
#ifdef WALKS
  :: d_step { steps >= 60 || (acked[0] && acked[1] && at[0] == idle && at[1] == idle && at[2] == idle) ->
       for (i : 0 .. N - 1) { reset(i); row[i] = free; owner[i] = 0 }
       acked[0] = false; acked[1] = false; commits = 0; faults = 0;
       STEP(walk, 0, none); steps = 0; walks++ }
#endif
  od
}

#ifdef LIVE
ltl acknowledged_at_last { <> (acked[0] && acked[1]) }
#endif
