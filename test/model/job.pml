/*
 * inboxConsume with a broker that has one delivery twice: the claim of job.<id>, the handler, the completion in the
 * store, and only then the settlement in the broker. Runs 0 and 1 are in one process, run 2 in another.
 */
#include "common.pml"

mtype = { send, apply, arrive, refuse, lose, again, ok, fail, kill, end, lapse };
mtype = { idle, claiming, claim_answer, running, completing, complete_answer, completing_later, releasing, release_answer, settling, settle_answer };
mtype = { free, leased, ended, completed, claimed, takeover, in_flight, held, lost_lease };
mtype = { first_run, rerun, done, retry };
mtype = { removed_was_handled, one_at_a_time, repeat_is_takeover, no_run_after_removal };

/* The row of the store; flaw 4 has one for each message. */
mtype row[2] = free;
byte owner[2];
bool was_takeover[2];
#if BUG == 4
#define KEY(s) message[s]
#else
#define KEY(s) 0
#endif

#define P(s) ((s) / 2)
/* What a process knows without the store: that it runs the job, or that it has handled it. */
#define SAME(i, s) ((i) != (s) && P(i) == P(s) && KEY(i) == KEY(s))
#define SUCCEEDED_AT(i) (at[i] == completing || at[i] == complete_answer || at[i] == completing_later)
#define IS_PENDING(s) ((SAME(0, s) && SUCCEEDED_AT(0)) || (SAME(1, s) && SUCCEEDED_AT(1)))
#define IS_RUNNING(s) ((SAME(0, s) && at[0] == running) || (SAME(1, s) && at[1] == running))

/* The messages of the broker: who holds them. */
#define READY (N + 1)
#define GONE (N + 2)
byte holder[2] = READY;

mtype at[N] = idle;
byte message[N];
mtype result[N] = none;
mtype due[N] = none; /* the settlement */
bool is_lost[N];     /* its lease has ended */
bool unfinished[N];  /* flaw 1: its completion comes last */

bool succeeded, removed, left_open, lost_once;

inline reset(s) { at[s] = idle; message[s] = 0; result[s] = none; due[s] = none; is_lost[s] = false; unfinished[s] = false }

inline store_claim(s, k) {
  if
  :: row[k] == free -> row[k] = leased; owner[k] = s; was_takeover[k] = false; result[s] = claimed
  :: row[k] == ended -> row[k] = leased; owner[k] = s; was_takeover[k] = true; result[s] = (BUG == 5 -> claimed : takeover)
#if BUG == 6
  :: row[k] == leased -> owner[k] = s; result[s] = (was_takeover[k] -> takeover : claimed)
#else
  :: row[k] == leased -> result[s] = (BUG == 2 -> completed : in_flight)
#endif
  :: row[k] == completed -> result[s] = completed
  fi
}

inline store_release(s, k) {
  if
  :: row[k] == leased && owner[k] == s -> row[k] = (was_takeover[k] -> ended : free); owner[k] = 0
  :: row[k] == ended && owner[k] == s && !was_takeover[k] -> row[k] = free; owner[k] = 0
  :: else
  fi
}

inline broker_settle(s) {
  if
  :: holder[message[s]] == s ->
     if
     :: due[s] == done ->
        HOLDS(removed_was_handled, succeeded);
        holder[message[s]] = GONE; removed = true
     :: else -> holder[message[s]] = READY
     fi;
     result[s] = held
  :: else -> result[s] = lost_lease
  fi
}

inline settle(s, what) { at[s] = settling; due[s] = what; said = due[s] }

inline begin(s) {
  for (i : 0 .. N - 1) {
    if :: i != s && at[i] == running -> HOLDS(one_at_a_time, is_lost[i] || is_lost[s]) :: else fi
  }
  HOLDS(no_run_after_removal, !removed || lost_once);
  HOLDS(repeat_is_takeover, !left_open || result[s] == takeover || is_lost[s]);
  said = (result[s] == takeover -> rerun : first_run);
  at[s] = running
}

active [N] proctype Run() UNTIL_DONE {
  byte s = _pid;
end_quiet:
  do
  /* The broker hands a message to a worker. */
  :: d_step { at[s] == idle && (holder[0] == READY || holder[1] == READY) ->
       message[s] = (holder[0] == READY -> 0 : 1); holder[message[s]] = s;
       if
       :: IS_PENDING(s) -> settle(s, (BUG == 7 -> done : retry))
       :: !IS_PENDING(s) && IS_RUNNING(s) -> settle(s, retry)
       :: else -> at[s] = claiming
       fi;
       STEP(send, s, none) }
  :: d_step { at[s] == claiming -> store_claim(s, KEY(s)); at[s] = claim_answer; STEP(apply, s, result[s]) }
  :: d_step { at[s] == completing ->
       row[KEY(s)] = completed; owner[KEY(s)] = 0; was_takeover[KEY(s)] = false;
       at[s] = complete_answer; STEP(apply, s, none) }
  :: d_step { at[s] == releasing -> store_release(s, KEY(s)); at[s] = release_answer; STEP(apply, s, none) }
  :: d_step { at[s] == settling -> broker_settle(s); at[s] = settle_answer; STEP(apply, s, result[s]) }
  :: d_step { at[s] == claim_answer ->
       if
       :: result[s] == completed -> settle(s, (IS_PENDING(s) -> retry : done))
       :: result[s] == in_flight -> settle(s, retry)
       :: (result[s] == claimed || result[s] == takeover) && (IS_PENDING(s) || IS_RUNNING(s)) ->
          at[s] = releasing; due[s] = (IS_PENDING(s) -> done : retry)
       :: else -> begin(s)
       fi;
       result[s] = none; STEP(arrive, s, none) }
  :: d_step { at[s] == complete_answer ->
       if :: BUG == 1 -> reset(s) :: else -> settle(s, done) fi;
       STEP(arrive, s, none) }
  :: d_step { at[s] == release_answer ->
       if
       :: due[s] == none -> settle(s, (BUG == 3 -> done : retry))
       :: due[s] == done && !IS_PENDING(s) -> settle(s, done)
       :: else -> settle(s, retry)
       fi;
       STEP(arrive, s, none) }
  :: d_step { at[s] == settle_answer ->
       if :: unfinished[s] -> at[s] = completing :: else -> reset(s) fi;
       result[s] = none; STEP(arrive, s, none) }
  :: d_step { at[s] == running ->
       succeeded = true; left_open = true;
       if :: BUG == 1 -> settle(s, done); unfinished[s] = true :: else -> at[s] = completing fi;
       STEP(ok, s, none) }
  :: d_step { at[s] == running && (WALKING || FAULT) ->
       faults = (WALKING -> faults : faults + 1); at[s] = releasing; STEP(fail, s, none) }
  /* The store has not taken the completion, or its answer is lost: the call is made again. */
  :: d_step { FAULT && at[s] == completing -> faults++; at[s] = completing_later; STEP(refuse, s, none) }
  :: d_step { FAULT && at[s] == complete_answer -> faults++; at[s] = completing_later; STEP(lose, s, none) }
  :: d_step { at[s] == completing_later -> at[s] = completing; STEP(again, s, none) }
  :: d_step { FAULT && at[s] == settling -> faults++; reset(s); STEP(refuse, s, none) }
  :: d_step { FAULT && at[s] == settle_answer -> faults++; reset(s); STEP(lose, s, none) }
  od
}

inline die(s) {
  left_open = left_open || at[s] == running;
  for (i : 0 .. 1) {
    if :: (row[i] == leased || row[i] == ended) && owner[i] == s -> owner[i] = DEAD :: else fi;
    if :: holder[i] == s -> holder[i] = DEAD :: else fi
  }
  reset(s)
}

#define LEFT(k) (owner[k] == DEAD || at[owner[k]] == idle)
#define END(k) \
  :: d_step { row[k] == leased && (LEFT(k) || FAULT) -> \
       if :: LEFT(k) :: else -> faults++; is_lost[owner[k]] = true; lost_once = true fi; \
       row[k] = ended; STEP(end, k, none) }

/* A message comes again if its holder is dead, or was too slow to extend it. */
#define HELD_BY_NONE(m) (holder[m] == DEAD || (holder[m] < N && at[holder[m]] == idle))
#define LAPSE(m) \
  :: d_step { holder[m] <= DEAD && (HELD_BY_NONE(m) || FAULT) -> \
       if :: HELD_BY_NONE(m) :: else -> faults++ fi; \
       holder[m] = READY; STEP(lapse, m, none) }

active proctype Time() UNTIL_DONE {
end_quiet:
  do
  END(0)
  END(1)
  LAPSE(0)
  LAPSE(1)
  :: d_step { FAULT && (at[0] != idle || at[1] != idle) && OFTEN_ENOUGH -> faults++; die(0); die(1); STEP(kill, 0, none) }
  :: d_step { FAULT && at[2] != idle && OFTEN_ENOUGH -> faults++; die(2); STEP(kill, 1, none) }
#ifdef WALKS
  :: d_step { steps >= 60 || (holder[0] == GONE && holder[1] == GONE && at[0] == idle && at[1] == idle && at[2] == idle) ->
       for (i : 0 .. N - 1) { reset(i) }
       for (i : 0 .. 1) { row[i] = free; owner[i] = 0; was_takeover[i] = false; holder[i] = READY }
       faults = 0; succeeded = false; removed = false; left_open = false; lost_once = false;
       STEP(walk, 0, none); steps = 0; walks++ }
#endif
  od
}

#ifdef LIVE
ltl acknowledged_at_last { <> (holder[0] == GONE && holder[1] == GONE) }
#endif
