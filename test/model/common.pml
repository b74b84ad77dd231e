/*
 * What the models share. Each step is atomic and prints "@ step at result answer". replay.ts plays the steps on real
 * code. Time is not modelled: whatever may be late, may come at any time. spin.ts has the commands.
 *
 * -DFAULTS=n faults at most, -DLIVE for liveness, -DWALKS=n for n random walks, -DBUG=n plants a flaw,
 * -DONLY=property looks for that property alone.
 */
#ifndef FAULTS
#define FAULTS 2
#endif
#ifndef BUG
#define BUG 0
#endif
#define N 3    /* requests or runs that can be under way at once */
#define DEAD N /* the owner of what a killed process holds */

mtype = { none, walk, broken };

byte faults;

hidden mtype said = none;
hidden byte i;
hidden byte steps;
hidden short walks;

/* In a walk kills are rare, so that it comes to its end. */
#define OFTEN_ENOUGH (!WALKING || steps % 5 == 0)
#ifdef WALKS
#define WALKING true
#define UNTIL_DONE provided (walks < WALKS)
#else
#define WALKING false
#define UNTIL_DONE
#endif

#define STEP(name, s, what) printf("@ %e %d %e %e\n", name, s, what, said); said = none; steps++
#define FAULT faults < FAULTS
#ifdef ONLY
#define COUNTS(property) property == ONLY
#else
#define COUNTS(property) true
#endif
#define HOLDS(property, condition) \
  if :: (condition) || !(COUNTS(property)) :: else -> printf("@ %e 0 %e none\n", broken, property); assert(false) fi
