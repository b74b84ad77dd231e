/*
 * One delivery with a TransactionalStore: the handler's writes and the memory of the id are one transaction. Each
 * request is to a process of its own. complete is COMMIT, release is ROLLBACK.
 */
#include "common.pml"

mtype = { send, apply, arrive, refuse, lose, ok, fail, wait, kill, end };
mtype = { idle, claiming, claim_answer, running, committing, commit_answer, rolling, roll_answer };
mtype = { free, locked, completed, claimed, in_flight, lost_lease };
mtype = { first_run, handled, duplicate, failed, unavailable, timed_out };
mtype = { acknowledged_was_committed, committed_once, one_at_a_time };

mtype row = free;
byte owner;

mtype at[N] = idle;
mtype result[N] = none;
mtype due[N] = none; /* the answer after the rollback */
bool answered[N];
bool is_lost[N];     /* the server has ended its transaction */

byte commits;
bool acked;

inline reply(s, outcome) { said = (answered[s] -> none : outcome); answered[s] = true }

inline acknowledge(s, outcome) {
  reply(s, outcome);
  if :: said != none -> HOLDS(acknowledged_was_committed, commits > 0); acked = true :: else fi
}

inline reset(s) { at[s] = idle; result[s] = none; due[s] = none; answered[s] = false; is_lost[s] = false }

inline roll_back(s) {
  if
  :: row == locked && (owner == s || BUG == 3) ->
     row = (BUG == 4 -> completed : free); owner = 0
  :: else
  fi
}

inline store_claim(s) {
  if
  :: row == free -> row = locked; owner = s; result[s] = claimed
#if BUG == 3
  :: row == locked -> result[s] = claimed
#elif BUG == 2
  :: row == locked -> result[s] = completed
#else
  :: row == locked -> result[s] = in_flight
#endif
  :: row == completed -> result[s] = completed
  fi
}

inline store_commit(s) {
  if
  :: (row == locked && owner == s) || (BUG == 3 && !is_lost[s]) ->
     row = (BUG == 1 -> free : completed); owner = 0;
     HOLDS(committed_once, commits == 0 || BUG == 3); commits = 1
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
  :: d_step { at[s] == idle && (!acked || FAULT) ->
       if :: acked && !WALKING -> faults++ :: else fi;
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
  :: d_step { FAULT && row == locked && (at[owner] == running || at[owner] == committing) ->
       faults++; i = owner; is_lost[i] = true; roll_back(i); STEP(end, i, none) }
#ifdef WALKS
  :: d_step { steps >= 40 || (acked && at[0] == idle && at[1] == idle && at[2] == idle) ->
       for (i : 0 .. N - 1) { reset(i) }
       row = free; owner = 0; commits = 0; acked = false; faults = 0;
       STEP(walk, 0, none); steps = 0; walks++ }
#endif
  od
}

#ifdef LIVE
ltl acknowledged_at_last { <> acked }
#endif
