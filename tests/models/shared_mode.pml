/* The shared mode around a lock, at its home: src/locks/kinds/shared_mode.cpp. The lock itself is one step here, and what its holder hands on
   travels with it.

   A reader and a writer sit at home, a reader and a writer at another node, and the home's server. Writers may give up while they
   wait for readers, and where they do not a lost wake-up or answer stops the model.

   With JOINS another reader sits at home, which joins (SharedMode::join_at_home) where it can, and else passes through the lock; one
   at another node is the same step, made by the server. The reader at home leaves when that one has been inside.

   Checked: no writer is inside beside another rank (assert); no rank waits for ever, so no wake-up and no answer is lost (a rank that
   does not finish is an invalid end state). */

#ifndef MUTANT
#define MUTANT 0
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef GIVES_UP
#define GIVES_UP true                   /* a writer that waits for readers may give up */
#endif
#ifndef JOINS
#define JOINS 0
#endif
#define NONE 0
#define HERE 1
#define ELSEWHERE 2
#define GONE 0
#define INSIDE 1

bit held;                               /* the lock; with it: */
byte admitted = 8;                      /* Tally::admitted; what joins lowers `left`, so they begin above 0 */
bit since_writer;                       /* Tally::since_writer */

byte left = 8;                          /* Readers::left */
byte awaiter, awaited;                  /* Readers::awaited, one word: always written together */
bit asleep;                             /* the writer at home, in the futex on `left` */
byte readers, writers;                  /* inside */
bit joiner_was_inside;

mtype = { LEFT, COUNTED, AWAIT, STOP };
chan to_server[2] = [4] of { mtype, byte };   /* from the ranks at home, from those elsewhere: in order each */
chan answers = [1] of { bit };

inline take() { atomic { !held -> held = 1 } }
inline release() { held = 0 }

/* SharedMode::count_left: adds, then looks. */
inline count_left(c_whom, c_seen) {
#if MUTANT == 1
  atomic { c_whom = awaiter; c_seen = awaited };         /* planted 1: looks before it adds */
  atomic { left++; if :: c_whom != NONE && c_seen == left -> skip :: else -> c_whom = NONE fi }
#else
  atomic { left++; c_seen = left };
  atomic { if :: awaiter != NONE && awaited == c_seen -> c_whom = awaiter :: else -> c_whom = NONE fi }
#endif
}

inline be_inside_shared() {
  readers++;
  assert(writers == 0);
  readers--
}
inline be_inside_alone() {
  writers++;
  assert(writers == 1 && readers == 0);
  writers--
}

/* SharedMode::admit_reader, then the release of the holder's lock. */
inline admit_reader() {
  take();
  admitted++;
#if MUTANT != 2
  since_writer = 1;                                      /* planted 2: the next writer sees no reader */
#endif
  release()
}

proctype reader_at_home() {
  byte round, whom, seen;
  do
  :: round < ROUNDS ->
     admit_reader();
#if JOINS
     readers++;
     assert(writers == 0);
     joiner_was_inside;
     readers--;
#else
     be_inside_shared();
#endif
     count_left(whom, seen);
     if
     :: whom == HERE -> asleep = 0                       /* the wake-up */
     :: whom == ELSEWHERE ->
#if MUTANT != 3
        to_server[0]!COUNTED(0)                          /* planted 3: no message to the server */
#else
        skip
#endif
     :: else
     fi;
     round++
  :: else -> break
  od
}

/* SharedMode::enter_or_join and SharedMode::join_at_home, then the leaving. */
proctype joiner() {
  byte round, whom, seen, wanted;
  bit inside;
  do
  :: round < ROUNDS ->
     inside = 0;
     do
     :: atomic { !held -> held = 1 };
        admitted++;
        since_writer = 1;
        release();
        break
#if MUTANT != 7                                          /* planted 7: joins nothing */
     :: atomic { !inside && awaiter != NONE && left < awaited -> inside = 1; seen = left; wanted = awaited };
#if MUTANT == 6
        atomic { left = left - 1; break }                /* planted 6: does not compare */
#else
        atomic {
          inside = 0;
          if
          :: left == seen -> left = left - 1; break
          :: else
          fi
        }
#endif
#endif
     od;
     joiner_was_inside = 1;
     be_inside_shared();
     count_left(whom, seen);
     if
     :: whom == HERE -> asleep = 0
     :: whom == ELSEWHERE -> to_server[0]!COUNTED(0)
     :: else
     fi;
     round++
  :: else -> break
  od
}

proctype reader_elsewhere() {
  byte round;
  do
  :: round < ROUNDS ->
     admit_reader();
     be_inside_shared();
     to_server[1]!LEFT(0);
     round++
  :: else -> break
  od
}

/* SharedMode::wait_for_readers and SharedMode::stop_awaiting, at home. */
proctype writer_at_home() {
  byte round, seen;
  bit none;
  do
  :: round < ROUNDS ->
     take();
     none = !since_writer;
     if
     :: !none ->
        atomic { awaiter = HERE; awaited = admitted };
        do
        :: seen = left;
           if
           :: seen == admitted -> none = 1; break
           :: else
           fi;
           atomic { if :: left == seen -> asleep = 1 :: else fi };
           !asleep
        :: GIVES_UP -> break                             /* its time is over */
        od;
        atomic { awaiter = NONE; awaited = 0 };
        asleep = 0;
        if
        :: !none && left == admitted -> none = 1
        :: else
        fi
     :: else
     fi;
     if
     :: none ->
        be_inside_alone();
        since_writer = 0
     :: else                                             /* releases the lock with the tally unchanged */
     fi;
     release();
     round++
  :: else -> break
  od
}

proctype writer_elsewhere() {
  byte round;
  bit answer;
  do
  :: round < ROUNDS ->
     take();
     answer = GONE;
     if
     :: since_writer ->
        to_server[1]!AWAIT(admitted);
        if
        :: answers?answer
        :: GIVES_UP -> to_server[1]!STOP(0); answers?answer
        fi
     :: else
     fi;
     if
     :: answer == GONE ->
        be_inside_alone();
        since_writer = 0
     :: else
     fi;
     release();
     round++
  :: else -> break
  od
}

/* The home's server: SharedMode::hear and SharedMode::answer. */
active proctype server() {
  byte value, whom, seen, wanted;
  bit waits;
  mtype verb;
end:
  do
  :: if
     :: to_server[0]?verb(value)
     :: to_server[1]?verb(value)
     fi;
     if
     :: verb == LEFT ->
        count_left(whom, seen);
        if
#if MUTANT != 4
        :: whom == HERE -> asleep = 0                    /* planted 4: wakes no writer beside it */
#endif
        :: else
        fi
     :: verb == AWAIT ->
        waits = 1;
        wanted = value;
#if MUTANT != 5
        atomic { awaiter = ELSEWHERE; awaited = wanted }
#endif
     :: verb == STOP && waits ->
        waits = 0;
        atomic { awaiter = NONE; awaited = 0 };
        answers!INSIDE
     :: else
     fi;
     /* SharedMode::serve */
     if
     :: waits && left == wanted ->
        waits = 0;
        atomic { awaiter = NONE; awaited = 0 };
        answers!GONE
     :: else
#if MUTANT == 5
        ; if :: verb == AWAIT && waits -> atomic { awaiter = ELSEWHERE; awaited = wanted } :: else fi   /* planted 5: looks first */
#endif
     fi
  od
}

init {
#if JOINS
  atomic { run joiner() };
#endif
  atomic { run reader_at_home(); run reader_elsewhere(); run writer_at_home(); run writer_elsewhere() }
}
