/*
 * once: "record": a claim on two keys. Requests 0 and 2 have one delivery id, request 1 has another, and all carry the
 * same record. Requests 0 and 1 are to one process, request 2 to another. Faults of single calls are in lease.pml.
 */
#include "common.pml"

mtype = { send, apply, arrive, ok, fail, kill, end };
mtype = { idle, calling, called, running, claim, complete, release };
mtype = { free, leased, ended, completed, claimed, takeover, in_flight };
mtype = { first_run, rerun, handled, duplicate, failed };
mtype = { acknowledged_was_handled, acknowledged_is_remembered, one_at_a_time, repeat_is_takeover, no_run_after_completion, one_in_a_process };

#define RECORD 2
#define ID(s) (s == 1 -> 1 : 0)
#define PROCESS(s) (s / 2)
/* The other request to the same process, which only 0 and 1 have. Request 2 has itself. */
#define BESIDE(s) (s == 2 -> 2 : 1 - s)
/* What the process knows of the record under its other id. */
#define RUNS_HERE(s) (s != 2 && at[BESIDE(s)] == running)
#define DONE_HERE(s) (s != 2 && due[BESIDE(s)] == handled)
#define KNOWN(s) (BUG != 7 && (RUNS_HERE(s) || DONE_HERE(s)))

/* The rows of the store: two ids and the record. */
mtype row[3] = free;
byte owner[3];
bool was_takeover[3];

mtype at[N] = idle;
mtype call[N] = none;
byte key[N];
mtype result[N] = none;
bool is_takeover[N];
mtype due[N] = none;
bool is_lost[N]; /* one of its leases has ended */
bool is_known[N]; /* its process has refused it, and the store need not know why */

bool acked[2];
bool succeeded, completed_once, left_open, lost_once;

inline reset(s) {
  at[s] = idle; call[s] = none; key[s] = 0; result[s] = none; is_takeover[s] = false; due[s] = none; is_lost[s] = false; is_known[s] = false
}

inline make(s, what, k) { at[s] = calling; call[s] = what; key[s] = k }

inline answer(s, outcome) {
  said = outcome;
  if
  :: outcome == handled || outcome == duplicate ->
     HOLDS(acknowledged_was_handled, succeeded);
     HOLDS(acknowledged_is_remembered, row[ID(s)] == completed || is_known[s]);
     acked[ID(s)] = true
  :: else
  fi;
  reset(s)
}

inline store(s, k) {
  if
  :: call[s] == claim ->
     if
     :: row[k] == free -> row[k] = leased; owner[k] = s; was_takeover[k] = false; result[s] = claimed
     :: row[k] == ended -> row[k] = leased; owner[k] = s; was_takeover[k] = true; result[s] = takeover
     :: row[k] == leased -> result[s] = in_flight
     :: row[k] == completed -> result[s] = completed
     fi
  :: call[s] == complete ->
     row[k] = completed; owner[k] = 0; was_takeover[k] = false;
     if :: due[s] == handled -> completed_once = true :: else fi
  :: call[s] == release ->
     if
     :: row[k] == leased && owner[k] == s -> row[k] = (was_takeover[k] -> ended : free); owner[k] = 0
     :: row[k] == ended && owner[k] == s && !was_takeover[k] -> row[k] = free; owner[k] = 0
     :: else
     fi
  fi
}

inline begin(s) {
  for (i : 0 .. N - 1) {
    if :: i != s && at[i] == running -> HOLDS(one_at_a_time, is_lost[i] || is_lost[s]) :: else fi
  }
  HOLDS(one_in_a_process, !RUNS_HERE(s) && !DONE_HERE(s));
  HOLDS(no_run_after_completion, !completed_once || lost_once);
  HOLDS(repeat_is_takeover, !left_open || is_takeover[s] || is_lost[s]);
  said = (is_takeover[s] -> rerun : first_run);
  at[s] = running; call[s] = none
}

inline refuse_here(s) { is_known[s] = true; due[s] = (DONE_HERE(s) -> duplicate : in_flight) }

inline claimed_now(s) {
  if
  :: BUG == 3 && key[s] == RECORD && result[s] == in_flight -> result[s] = completed
  :: BUG == 4 && key[s] == RECORD && result[s] == takeover -> result[s] = claimed; is_takeover[s] = false
  :: BUG == 6 && key[s] == RECORD && result[s] == in_flight -> result[s] = claimed
  :: else
  fi;
  is_takeover[s] = is_takeover[s] || result[s] == takeover;
  if
  :: result[s] == in_flight && key[s] != RECORD -> answer(s, in_flight)
  :: result[s] == completed && key[s] != RECORD -> answer(s, duplicate)
  :: result[s] == in_flight && key[s] == RECORD -> due[s] = in_flight; make(s, release, ID(s))
  :: result[s] == completed && key[s] == RECORD ->
     due[s] = duplicate;
     if :: BUG == 5 -> answer(s, duplicate) :: else -> make(s, complete, ID(s)) fi
  :: key[s] != RECORD && result[s] != in_flight && result[s] != completed -> make(s, claim, RECORD)
  :: else ->
     if
     :: KNOWN(s) -> refuse_here(s); make(s, release, RECORD)
     :: else -> begin(s)
     fi
  fi;
  result[s] = none
}

/* The record first, then the id. */
inline settled_now(s) {
  if
  :: BUG == 2 && key[s] != RECORD && due[s] == handled -> make(s, complete, RECORD)
  :: BUG != 2 && key[s] == RECORD -> make(s, call[s], ID(s))
  :: BUG == 2 && key[s] == RECORD && call[s] == release -> make(s, release, ID(s))
  :: else -> answer(s, due[s])
  fi
}

active [N] proctype Request() UNTIL_DONE {
  byte s = _pid;
end_quiet:
  do
  :: d_step { at[s] == idle && (!acked[ID(s)] || FAULT) ->
       if :: acked[ID(s)] && !WALKING -> faults++ :: else fi;
       if :: KNOWN(s) -> refuse_here(s); answer(s, due[s]) :: else -> make(s, claim, ID(s)) fi;
       STEP(send, s, none) }
  :: d_step { at[s] == calling -> store(s, key[s]); at[s] = called; STEP(apply, s, result[s]) }
  :: d_step { at[s] == called ->
       if :: call[s] == claim -> claimed_now(s) :: else -> settled_now(s) fi;
       STEP(arrive, s, none) }
  :: d_step { at[s] == running ->
       succeeded = true; left_open = true; due[s] = handled;
#if BUG == 1 || BUG == 2
       make(s, complete, ID(s));
#else
       make(s, complete, RECORD);
#endif
       STEP(ok, s, none) }
  :: d_step { at[s] == running && (WALKING || FAULT) ->
       faults = (WALKING -> faults : faults + 1); due[s] = failed; make(s, release, RECORD); STEP(fail, s, none) }
  :: d_step { s != 1 && FAULT && (at[s] != idle || at[BESIDE(s)] != idle) && OFTEN_ENOUGH ->
       faults++;
       left_open = left_open || at[s] == running || at[BESIDE(s)] == running;
       for (i : 0 .. 2) {
         if
         :: (row[i] == leased || row[i] == ended) && (owner[i] == s || owner[i] == BESIDE(s)) -> owner[i] = DEAD
         :: else
         fi
       }
       reset(s); reset(BESIDE(s)); STEP(kill, PROCESS(s), none) }
  od
}

/* A lease that its owner renews ends only if a clock jumps. */
#define LEFT(k) (owner[k] == DEAD || at[owner[k]] == idle)
#define END(k) \
  :: d_step { row[k] == leased && (LEFT(k) || FAULT) -> \
       if :: LEFT(k) :: else -> faults++; is_lost[owner[k]] = true; lost_once = true fi; \
       row[k] = ended; STEP(end, k, none) }

active proctype Time() UNTIL_DONE {
end_quiet:
  do
  END(0)
  END(1)
  END(2)
#ifdef WALKS
  :: d_step { steps >= 60 || (acked[0] && acked[1] && at[0] == idle && at[1] == idle && at[2] == idle) ->
       for (i : 0 .. N - 1) { reset(i); row[i] = free; owner[i] = 0; was_takeover[i] = false }
       acked[0] = false; acked[1] = false; faults = 0;
       succeeded = false; completed_once = false; left_open = false; lost_once = false;
       STEP(walk, 0, none); steps = 0; walks++ }
#endif
  od
}

#ifdef LIVE
ltl acknowledged_at_last { <> (acked[0] && acked[1]) }
#endif
