/*
 * One delivery, from its sender to the store: claim, lease and completion, as src/handling/ and a DeliveryStore do them.
 * -DPROCESSES=2 or 3 receivers.
 */
#include "common.pml"
#ifndef PROCESSES
#define PROCESSES 2
#endif
#if PROCESSES == 2
#define P(s) ((s) / 2) /* requests 0 and 1 are to the same receiver */
#else
#define P(s) (s)
#endif

mtype = { send, apply, arrive, refuse, refuse_late, lose, hang, ok, fail, wait, renew, renew_lost,
  retry, retry_lost, stray, ghost, kill, freeze, thaw, end, jump, ack, ack_lost };
mtype = { idle, claiming, claim_answer, running, completing, complete_answer, releasing, release_answer, bg_complete, bg_release };
mtype = { free, leased, ended, completed, claimed, takeover, in_flight, held, lost_lease };
mtype = { first_run, rerun, handled, duplicate, failed, unavailable, timed_out };
mtype = { acknowledged_was_handled, one_in_a_process, repeat_is_takeover, no_claim_after_completion, no_run_after_completion };

/* The row of the store. */
mtype row = free;
byte owner;
bool was_takeover;

/* Each request. */
mtype at[N] = idle;
mtype result[N] = none; /* of its claim, on its way to the receiver */
mtype due[N] = none;    /* the answer once its release has settled */
bool answered[N];
bool is_late[N];        /* by the clock of its process its lease is over */
bool is_lost[N];        /* its lease has ended in the store */
bool is_told[N];        /* a renewal said so */
bool has_stray[N];      /* its claim may still reach the store */

bool frozen[PROCESSES];
bool ghost_claim;       /* a claim of a killed process may still reach the store */
bool on_wire, acked;    /* a 2xx */

/* What has happened, for the properties. */
bool succeeded, completed_once, left_open, lost_once;

#define AWAKE(s) !frozen[P(s)]
#define SOME(p, condition) ((P(0) == p && condition(0)) || (P(1) == p && condition(1)) || (P(2) == p && condition(2)))
#define SUCCEEDED_AT(s) (at[s] == completing || at[s] == complete_answer || at[s] == bg_complete)
#define RUNS_AT(s) (at[s] == running && BUG != 9)
#define IS_HANDLED(s) SOME(P(s), SUCCEEDED_AT)
#define IS_RUNNING(s) SOME(P(s), RUNS_AT)

inline reply(s, outcome) { said = (answered[s] -> none : outcome); answered[s] = true }

/* A 2xx. An acknowledged delivery was handled. */
inline acknowledge(s, outcome) {
  reply(s, outcome);
  if :: said != none -> HOLDS(acknowledged_was_handled, succeeded); on_wire = !acked :: else fi
}

inline reset(s) {
  at[s] = idle; result[s] = none; due[s] = none; answered[s] = false; is_late[s] = false;
  is_lost[s] = false; is_told[s] = false; has_stray[s] = false
}

/* ---- the store ---- */

inline store_claim(s, answer) {
  if
  :: row == free -> row = leased; owner = s; was_takeover = false; answer = claimed
  :: row == ended -> row = leased; owner = s;
#if BUG == 4
     was_takeover = false; answer = claimed
#else
     was_takeover = true; answer = takeover
#endif
#if BUG == 1
  :: row == leased -> owner = s; answer = (was_takeover -> takeover : claimed)
#elif BUG == 2
  :: row == leased -> answer = completed
#elif BUG == 10
  :: row == leased && owner != DEAD && P(owner) == P(s) -> owner = s; answer = (was_takeover -> takeover : claimed)
  :: row == leased && (owner == DEAD || P(owner) != P(s)) -> answer = in_flight
#else
  :: row == leased -> answer = in_flight
#endif
  :: row == completed -> answer = completed
  fi;
  if
  :: answer == claimed || answer == takeover -> HOLDS(no_claim_after_completion, !completed_once)
  :: else
  fi
}

inline store_complete() {
#if BUG != 7
  row = completed;
#endif
  completed_once = true; was_takeover = false; owner = 0
}

inline store_release(s) {
  if
#if BUG == 3
  :: row == completed -> row = free
#endif
  :: (row == leased || row == ended) && owner == s ->
#if BUG == 5
     row = free; owner = 0; was_takeover = false
#else
     if :: was_takeover -> row = ended :: else -> row = free; owner = 0 fi
#endif
  :: else
  fi
}

/* ---- a receiver ---- */

/* The store call of a settlement failed: the answer is given, and the call is repeated in the background. */
inline settle_later(s) {
  if
  :: at[s] == completing || at[s] == complete_answer -> acknowledge(s, handled); at[s] = bg_complete
  :: at[s] == claiming || at[s] == claim_answer -> reply(s, unavailable); at[s] = bg_release
  :: else -> reply(s, due[s]); at[s] = bg_release
  fi;
  result[s] = none; due[s] = none
}

inline begin(s) {
  for (i : 0 .. N - 1) {
    if
    :: i != s && at[i] == running ->
       HOLDS(one_in_a_process, P(i) != P(s));
       HOLDS(repeat_is_takeover, result[s] == takeover || is_lost[s])
    :: else
    fi
  }
  HOLDS(no_run_after_completion, !completed_once || lost_once);
  HOLDS(repeat_is_takeover, !left_open || result[s] == takeover || is_lost[s]);
  said = (result[s] == takeover -> rerun : first_run);
  at[s] = running
}

/* The answer of a claim has come. */
inline claimed_now(s) {
  if
  :: result[s] == completed -> acknowledge(s, duplicate); reset(s)
#if BUG == 8
  :: result[s] == in_flight -> acknowledge(s, duplicate); reset(s)
#else
  :: result[s] == in_flight -> reply(s, in_flight); reset(s)
#endif
  :: else ->
     if
     :: answered[s] || is_late[s] -> reply(s, unavailable); at[s] = releasing
     :: else ->
        if
        :: IS_HANDLED(s) -> due[s] = duplicate; at[s] = releasing
        :: !IS_HANDLED(s) && IS_RUNNING(s) -> due[s] = in_flight; at[s] = releasing
        :: else -> begin(s)
        fi
     fi;
     result[s] = none
  fi
}

active [N] proctype Request() UNTIL_DONE {
  byte s = _pid;
end_quiet:
  do
  /* Calls that are on their way to the store. */
  :: d_step { at[s] == claiming -> store_claim(s, result[s]); at[s] = claim_answer; STEP(apply, s, result[s]) }
  :: d_step { at[s] == completing -> store_complete(); at[s] = complete_answer; STEP(apply, s, none) }
  :: d_step { at[s] == releasing -> store_release(s); at[s] = release_answer; STEP(apply, s, none) }
  :: d_step { has_stray[s] -> has_stray[s] = false; store_claim(s, result[s]); STEP(stray, s, result[s]); result[s] = none }
  /* Answers of the store. */
  :: d_step { AWAKE(s) && at[s] == claim_answer -> claimed_now(s); STEP(arrive, s, none) }
  :: d_step { AWAKE(s) && at[s] == complete_answer -> acknowledge(s, handled); reset(s); STEP(arrive, s, none) }
  :: d_step { AWAKE(s) && at[s] == release_answer ->
       if :: due[s] == duplicate -> acknowledge(s, duplicate) :: else -> reply(s, due[s]) fi;
       reset(s); STEP(arrive, s, none) }
  /* The handler. */
  :: d_step { AWAKE(s) && at[s] == running -> at[s] = completing; succeeded = true; left_open = true; STEP(ok, s, none) }
  :: d_step { AWAKE(s) && at[s] == running && (WALKING || FAULT) ->
       faults = (WALKING -> faults : faults + 1); at[s] = releasing; due[s] = failed; STEP(fail, s, none) }
  :: d_step { AWAKE(s) && at[s] == running && !answered[s] && !(WALKING && is_late[s]) -> reply(s, timed_out); STEP(wait, s, none) }
  :: d_step { AWAKE(s) && at[s] == running && !is_told[s] && (WALKING || is_late[s] || is_lost[s]) ->
       if
       :: row == leased && owner == s -> is_late[s] = false; STEP(renew, s, held)
       :: else -> is_told[s] = true; STEP(renew, s, lost_lease)
       fi }
  :: d_step { AWAKE(s) && at[s] == running && !is_told[s] && FAULT && (WALKING || is_late[s]) ->
       faults++; is_told[s] = is_late[s]; STEP(renew_lost, s, (is_told[s] -> lost_lease : held)) }
  /* The background. */
  :: d_step { AWAKE(s) && at[s] == bg_complete -> store_complete(); reset(s); STEP(retry, s, none) }
  :: d_step { AWAKE(s) && at[s] == bg_complete && FAULT -> faults++; store_complete(); STEP(retry_lost, s, none) }
  :: d_step { AWAKE(s) && at[s] == bg_release ->
       store_release(s);
       /* Once the time of a lease is over, a claim that may still arrive is no longer released. */
       if
       :: has_stray[s] && is_late[s] -> ghost_claim = true; reset(s)
       :: !has_stray[s] -> reset(s)
       :: else
       fi;
       STEP(retry, s, none) }
  :: d_step { AWAKE(s) && at[s] == bg_release && FAULT -> faults++; store_release(s); STEP(retry_lost, s, none) }
  /* Faults of a call: it fails before the store has it, its answer is lost, or it takes too long. */
  :: d_step { AWAKE(s) && FAULT && (at[s] == claiming || at[s] == completing || at[s] == releasing) ->
       faults++; settle_later(s); STEP(refuse, s, none) }
  :: d_step { AWAKE(s) && FAULT && at[s] == claiming ->
       faults++; settle_later(s); has_stray[s] = true; STEP(refuse_late, s, none) }
  :: d_step { AWAKE(s) && FAULT && (at[s] == claim_answer || at[s] == complete_answer || at[s] == release_answer) ->
       faults++; settle_later(s); STEP(lose, s, none) }
  :: d_step { AWAKE(s) && FAULT && (at[s] == claiming || at[s] == claim_answer) && !answered[s] ->
       faults++; reply(s, unavailable); STEP(hang, s, none) }
  od
}

/* ---- around them ---- */

/* It repeats until a 2xx. One that comes later than the 2xx was sent before it. */
#define SEND(s) \
  :: d_step { AWAKE(s) && (!acked || FAULT) && (at[s] == idle || IS_HANDLED(s) || IS_RUNNING(s)) -> \
       if :: acked -> faults++ :: else fi; \
       if \
       :: IS_HANDLED(s) -> said = duplicate; HOLDS(acknowledged_was_handled, succeeded); on_wire = !acked \
       :: !IS_HANDLED(s) && IS_RUNNING(s) -> said = in_flight \
       :: else -> at[s] = claiming \
       fi; \
       STEP(send, s, none) }

active proctype Sender() UNTIL_DONE {
end_quiet:
  do
  SEND(0)
  SEND(1)
  SEND(2)
  od
}

inline end_lease() {
#if BUG == 6
  skip
#else
  row = ended;
  if :: owner != DEAD -> is_lost[owner] = true; lost_once = true :: else fi
#endif
}

/* A lease that its owner renews ends only if the clock of the store jumps. */
#define NOT_RENEWED (owner == DEAD || frozen[P(owner)] || at[owner] == bg_complete || at[owner] == bg_release)

#define THAW(p) \
  :: d_step { frozen[p] -> frozen[p] = false; \
       for (i : 0 .. N - 1) { \
         if :: P(i) == p && (at[i] == claiming || at[i] == claim_answer || at[i] == running || has_stray[i]) -> is_late[i] = true :: else fi \
       } \
       STEP(thaw, p, none) }

active proctype Time() UNTIL_DONE {
end_quiet:
  do
  :: d_step { on_wire -> on_wire = false; acked = true; STEP(ack, 0, none) }
  :: d_step { row == leased && NOT_RENEWED -> end_lease(); STEP(end, 0, none) }
  :: d_step { ghost_claim -> ghost_claim = false;
       if :: row == free || row == ended -> was_takeover = (row == ended); row = leased; owner = DEAD :: else fi;
       STEP(ghost, 0, none) }
  THAW(0)
  THAW(1)
#if PROCESSES == 3
  THAW(2)
#endif
  od
}

/* A process that stands still is late with its lease, so that counts as two faults. */
#define KILL(p) \
  :: d_step { FAULT -> faults++; \
       for (i : 0 .. N - 1) { \
         if \
         :: P(i) == p -> \
            left_open = left_open || at[i] == running; \
            ghost_claim = ghost_claim || at[i] == claiming || has_stray[i]; \
            if :: (row == leased || row == ended) && owner == i && BUG != 10 -> owner = DEAD :: else fi; \
            reset(i) \
         :: else \
         fi \
       } \
       frozen[p] = false; STEP(kill, p, none) } \
  :: d_step { faults + 1 < FAULTS && !frozen[p] -> faults = faults + 2; frozen[p] = true; STEP(freeze, p, none) }

active proctype Fate() UNTIL_DONE {
end_quiet:
  do
  KILL(0)
  KILL(1)
#if PROCESSES == 3
  KILL(2)
#endif
  :: d_step { FAULT && row == leased && !(NOT_RENEWED) -> faults++; end_lease(); STEP(jump, 0, none) }
  :: d_step { FAULT && on_wire -> faults++; on_wire = false; STEP(ack_lost, 0, none) }
#ifdef WALKS
  :: true :: true :: true :: true
  :: d_step { steps >= 60 || (acked && at[0] == idle && at[1] == idle && at[2] == idle) ->
       for (i : 0 .. N - 1) { reset(i) }
       for (i : 0 .. PROCESSES - 1) { frozen[i] = false }
       row = free; was_takeover = false; ghost_claim = false; on_wire = false; acked = false; faults = 0;
       succeeded = false; completed_once = false; left_open = false; lost_once = false;
       STEP(walk, 0, none); steps = 0; walks++ }
#endif
  od
}

#ifdef LIVE
ltl acknowledged_at_last { <> acked }
#endif
