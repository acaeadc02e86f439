/* The shared heap's protocol for one page: src/dsm, by its files fault.cpp, fetch.cpp, release.cpp, acquire.cpp,
   handlers.cpp, node_log.cpp and diff.cpp. Word w of the page is written under lock w. Node HOME keeps the page; the
   others cache it. A node's ranks share its copy and its words, and have mappings and cursors of their own.

   Checked: a rank that holds a lock reads what was written last under it, its own writes included (assert); at the end
   the home has all that was written; everybody finishes.

   A step is one load or store of a shared word, or several of which the others see one at most. Stores are seen in the
   order of the program. Left out: other pages, barriers, the search for a home, and rings that overflow. */

/* 1 Bug::published_before_applied · 2 Bug::have_of_the_answer · 3 Bug::twin_not_updated · 4 make_diff loads twice ·
   5 Bug::merge_overwrites · 6 Bug::fetch_beside_flush · 7 Bug::dirt_forgotten · 8 Bug::busy_not_asked ·
   9 Bug::mark_after_look · 10 Bug::served_not_read · 11 Bug::named_for_ever · 12 Bug::own_place_skipped ·
   13 merge compares the page with the twin · 14 an absent page is valid ·
   15 the count of serves is read last · 16 to 18, below: busy is free before the interval is made ·
   named is stored before the clock · a page becomes named that the interval does not name */
#ifndef MUTANT
#define MUTANT 0
#endif
#ifndef ROUNDS                   /* of each rank's program */
#define ROUNDS 1
#endif
#ifndef SCENE                    /* which ranks there are, and what they do: at the end */
#define SCENE 0
#endif

/* KEEPS_BUSY: Heap::release_writes gives PageWords::busy back after the interval is made. NAMED_LAST:
   NodeLog::make_interval stores PageWords::named after its clock. LOOKS_ONCE: it stores that of the pages that the
   interval names, and looks at PageWords::is_tracked once. Without one of them writes are lost. */
#if MUTANT != 16
#define KEEPS_BUSY
#endif
#if MUTANT != 17
#define NAMED_LAST
#endif
#if MUTANT != 18
#define LOOKS_ONCE
#endif

#if MUTANT
/* A mutant fails soon: to compile its checker well takes longer than to run it. */
c_decl {
\#pragma GCC optimize ("O0")
}
#endif

#define HOME 0                   /* PageWords::home */
#if SCENE == 3
#define NODES 3
#define WORDS 3
#elif SCENE == 5
#define NODES 3
#define WORDS 2
#else
#define NODES 2
#define WORDS 2
#endif
#if SCENE >= 2 && SCENE <= 4
#define RANKS 3
#else
#define RANKS 4
#endif
#define LOCKS 3
#if SCENE == 4
#define ANOTHER                  /* page, that each interval of the home names */
#endif

/* By node. Of PageWords: busy, and of a page at home elsewhere wanted and have. */
byte page[NODES * WORDS];        /* HeapMemory::page */
byte twin[NODES * WORDS];        /* HeapMemory::twin */
bit busy[NODES];
byte wanted[NODES];
byte have[NODES];
byte stale_end[NODES];           /* NodeWords::stale; all entries are this page */
bit log_taken[NODES];            /* NodeLog::mutex_ */
byte clock[NODES * NODES];       /* HeapMemory::clock, of a node, by node */
int names[NODES];                /* bit k: the node's interval k names the page; NodeLog::add_notices */

/* At the home. */
byte serves;                     /* NodeWords::serves */
byte served_end;                 /* NodeWords::served; all entries are this page */
byte served;                     /* PageWords::served */
byte named;                      /* PageWords::named */

/* By rank: members of Heap, and what PageTrap::collect would find. */
bit mapped[RANKS];
bit watched[RANKS];
bit carry[RANKS];
bit written[RANKS];              /* since it was mapped or collected; or mapped bare */
byte stale_cursor[RANKS];
byte served_cursor[RANKS];

/* A rank's message to the home's server, and its answer; a rank has one at a time under way. */
#define NO_MESSAGE 0
#define FETCH 1                  /* Call::fetch */
#define DIFFS 2                  /* Call::diffs */
byte message[RANKS];
byte content[RANKS * WORDS];     /* of the answer, or of the diff */
byte changed[RANKS];             /* by word, a bit: it is in the diff */

/* Locks, with the clock of the grant that the last holder left. */
bit held[LOCKS];
byte grant[LOCKS * NODES];

byte last[WORDS];                /* what was written last */
byte done;

#define PAGE(n, w) page[(n) * WORDS + (w)]
#define TWIN(n, w) twin[(n) * WORDS + (w)]
#define CLOCK(n, m) clock[(n) * NODES + (m)]
#define GRANT(l, m) grant[(l) * NODES + (m)]
#define CONTENT(r, w) content[(r) * WORDS + (w)]
#if MUTANT == 14
#define IS_VALID(n) (have[n] == wanted[n] + 1 || (have[n] == 0 && wanted[n] == 0))    /* planted: zeros are a copy */
#else
#define IS_VALID(n) (have[n] == wanted[n] + 1)
#endif
#define IS_TRACKED (served > named)

/* NodeLog::count_serve */
inline count_serve() {
  serves++;
  served = serves;
  served_end++
}

/* The home's server: Handlers::fetch and Handlers::diffs, a message at a time. */
proctype server() {
  byte r, w;
end:
  do
  :: atomic {
       if
       :: message[0] != NO_MESSAGE -> r = 0
       :: message[1] != NO_MESSAGE -> r = 1
       :: message[2] != NO_MESSAGE -> r = 2
#if RANKS > 3
       :: message[3] != NO_MESSAGE -> r = 3
#endif
       fi;
       w = 0
     };
     if
     :: message[r] == FETCH ->
#if MUTANT != 9
        count_serve();
#endif
        do
        :: w < WORDS -> atomic { CONTENT(r, w) = PAGE(HOME, w); w++ }
        :: else -> break
        od
#if MUTANT == 9
        ; count_serve()
#endif
     :: else ->
        do
        :: w < WORDS ->
           atomic {
             if
             :: changed[r] >> w & 1 -> PAGE(HOME, w) = CONTENT(r, w)
             :: else
             fi;
             CONTENT(r, w) = 0;
             w++
           }
        :: else -> break
        od
     fi;
     atomic { changed[r] = 0; message[r] = NO_MESSAGE; r = 0; w = 0 }
  od
}

/* One word of an answer: merge and fill of diff.cpp, called by Heap::Fetch::take. */
inline take(t_n, t_r, t_w) {
  if
  :: have[t_n] == 0 -> atomic { PAGE(t_n, t_w) = CONTENT(t_r, t_w); TWIN(t_n, t_w) = CONTENT(t_r, t_w) }
  :: else ->
#if MUTANT == 5
     PAGE(t_n, t_w) = CONTENT(t_r, t_w);
     TWIN(t_n, t_w) = CONTENT(t_r, t_w)
#elif MUTANT == 13
     /* planted: the answer goes where the page equals the twin, by a look before the store */
     t_seen = PAGE(t_n, t_w);
     if
     :: t_seen == TWIN(t_n, t_w) -> PAGE(t_n, t_w) = CONTENT(t_r, t_w)
     :: else
     fi;
     atomic { TWIN(t_n, t_w) = CONTENT(t_r, t_w); t_seen = 0 }
#else
     if
     :: CONTENT(t_r, t_w) != TWIN(t_n, t_w) ->
        PAGE(t_n, t_w) = CONTENT(t_r, t_w);
#if MUTANT != 3
        TWIN(t_n, t_w) = CONTENT(t_r, t_w)
#endif
     :: else
     fi
#endif
  fi
}

/* Heap::fetch and Heap::fetch_all */
inline fetch(f_n, f_r) {
  atomic { busy[f_n] == 0 -> busy[f_n] = 1 };                    /* PageWords::take */
  if
  :: IS_VALID(f_n)
  :: else ->
     f_wanted = wanted[f_n];
     atomic { message[f_r] == NO_MESSAGE -> message[f_r] = FETCH };
     message[f_r] == NO_MESSAGE;
     do
     :: f_w < WORDS -> take(f_n, f_r, f_w); f_w++
     :: else -> break
     od;
#if MUTANT == 2
     f_wanted = wanted[f_n];
#endif
     atomic {
       have[f_n] = f_wanted + 1;
       f_wanted = 0;
       do
       :: f_w > 0 -> f_w--; CONTENT(f_r, f_w) = 0
       :: else -> break
       od
     }
  fi;
  busy[f_n] = 0                                                  /* PageWords::give_back */
}

/* Heap::make_accessible, with Heap::map_home_page and Heap::map_valid_page */
inline make_accessible(a_n, a_r, a_writes) {
  do
  :: mapped[a_r] -> break
  :: !mapped[a_r] && a_n == HOME ->
     a_tracked = IS_TRACKED;
     atomic {
       mapped[a_r] = 1; watched[a_r] = a_tracked; written[a_r] = (!a_tracked || a_writes);
       a_tracked = 0
     };
     break
  :: !mapped[a_r] && a_n != HOME ->
     if
     :: IS_VALID(a_n) ->
        atomic { mapped[a_r] = 1; watched[a_r] = 1; written[a_r] = a_writes };
        break
     :: else -> fetch(a_n, a_r)
     fi
  od
}

/* Heap::collect_written, with Heap::watch_what_was_served */
inline collect_written(c_n, c_r, c_any) {
#if MUTANT != 10
  if
  :: c_n == HOME ->
     atomic {
       if
       :: served_cursor[c_r] != served_end && mapped[c_r] -> watched[c_r] = 1
       :: else
       fi;
       served_cursor[c_r] = served_end
     }
  :: else
  fi;
#endif
  atomic {
    c_any = carry[c_r]; carry[c_r] = 0;
    if
    :: watched[c_r] && written[c_r] -> c_any = 1; written[c_r] = 0
    :: else
    fi
  }
}

/* Heap::flush; make_diff of diff.cpp, a word at a time */
inline flush(f_n, f_r) {
  atomic { busy[f_n] == 0 -> busy[f_n] = 1 };
  message[f_r] == NO_MESSAGE;
  do
  :: f_w < WORDS ->
#if MUTANT == 4
     if
     :: PAGE(f_n, f_w) != TWIN(f_n, f_w) ->
        atomic { CONTENT(f_r, f_w) = PAGE(f_n, f_w); changed[f_r] = changed[f_r] | (1 << f_w) };
        TWIN(f_n, f_w) = PAGE(f_n, f_w)                          /* planted: a load of its own */
     :: else
     fi;
#else
     if
     :: atomic { PAGE(f_n, f_w) != TWIN(f_n, f_w) ->
          CONTENT(f_r, f_w) = PAGE(f_n, f_w); changed[f_r] = changed[f_r] | (1 << f_w) };
        TWIN(f_n, f_w) = CONTENT(f_r, f_w)
     :: atomic { PAGE(f_n, f_w) == TWIN(f_n, f_w) }
     fi;
#endif
     f_w++
  :: else -> break
  od;
  f_w = 0;
  if
  :: changed[f_r] != 0 ->
     message[f_r] = DIFFS;
#if MUTANT == 6
     busy[f_n] = 0;
#endif
#if MUTANT != 1
     message[f_r] == NO_MESSAGE
#endif
  :: else
#if MUTANT == 6
     -> busy[f_n] = 0
#endif
  fi;
#if MUTANT != 6 && !defined(KEEPS_BUSY)
  busy[f_n] = 0
#endif
}

/* NodeLog::make_interval, of a home page. Without ANOTHER no interval is made where this page is not tracked. */
inline make_interval_at_home(m_r) {
  atomic { log_taken[HOME] == 0 -> log_taken[HOME] = 1 };
  m_serves = serves;
  m_named = IS_TRACKED;
#ifndef ANOTHER
  if
  :: !m_named
  :: else ->
#endif
#ifdef NAMED_LAST
     atomic {
       CLOCK(HOME, HOME)++;
       names[HOME] = names[HOME] | (m_named << CLOCK(HOME, HOME))
     };
#endif
     if
#ifdef LOOKS_ONCE
     :: m_named ->
#else
     :: IS_TRACKED ->
#endif
#if MUTANT == 11
        named = 255
#elif MUTANT == 15
        named = serves                                           /* planted: with a serve since then */
#else
        named = m_serves
#endif
     :: else
     fi;
#ifndef NAMED_LAST
     atomic {
       CLOCK(HOME, HOME)++;
       names[HOME] = names[HOME] | (m_named << CLOCK(HOME, HOME))
     }
#endif
#ifndef ANOTHER
  fi;
#endif
  atomic { log_taken[HOME] = 0; m_serves = 0 };
  if
  :: m_named -> m_named = 0
  :: else -> watched[m_r] = 0
  fi
}

/* Heap::release_writes */
inline release_writes(w_n, w_r) {
  collect_written(w_n, w_r, w_any);
  if
  :: w_any && w_n == HOME -> make_interval_at_home(w_r)
  :: w_any && w_n != HOME ->
     flush(w_n, w_r);
     atomic {                                                    /* NodeLog::make_interval */
       log_taken[w_n] == 0 ->
       CLOCK(w_n, w_n)++;
       names[w_n] = names[w_n] | (1 << CLOCK(w_n, w_n))
     };
#ifdef KEEPS_BUSY
     busy[w_n] = 0
#endif
  :: else
  fi;
  w_any = 0
}

/* Heap::unlock */
inline unlock(u_n, u_r, u_l) {
  release_writes(u_n, u_r);
  d_step {
    do
    :: u_m < NODES -> GRANT(u_l, u_m) = CLOCK(u_n, u_m); u_m++
    :: else -> break
    od;
    u_m = 0;
    held[u_l] = 0
  }
}

/* NodeLog::apply of what node a_m's intervals name, up to a_latest */
inline apply(a_n, a_m, a_latest) {
  atomic { log_taken[a_n] == 0 -> log_taken[a_n] = 1 };
  if
  :: a_n != HOME && CLOCK(a_n, a_m) < a_latest &&
     (names[a_m] >> (CLOCK(a_n, a_m) + 1)) % (1 << (a_latest - CLOCK(a_n, a_m))) != 0 ->
     wanted[a_n]++;
     stale_end[a_n]++
  :: else
  fi;
  if
  :: atomic { CLOCK(a_n, a_m) < a_latest -> CLOCK(a_n, a_m) = a_latest }
  :: atomic { CLOCK(a_n, a_m) >= a_latest }
  fi;
  log_taken[a_n] = 0
}

/* Heap::unmap_stale */
inline unmap_stale(s_n, s_r) {
  if
  :: s_n != HOME && stale_cursor[s_r] != stale_end[s_n] ->
     stale_cursor[s_r] = stale_end[s_n];
     if
     :: mapped[s_r] && !IS_VALID(s_n) ->
        atomic { mapped[s_r] = 0; watched[s_r] = 0; written[s_r] = 0 };
#if MUTANT != 7
        do                                                       /* differs of diff.cpp */
        :: s_w < WORDS && PAGE(s_n, s_w) != TWIN(s_n, s_w) -> carry[s_r] = 1; break
        :: s_w < WORDS && PAGE(s_n, s_w) == TWIN(s_n, s_w) -> s_w++
        :: s_w == WORDS -> break
        od;
        s_w = 0;
#endif
#if MUTANT != 8
        if
        :: busy[s_n] -> carry[s_r] = 1
        :: else
        fi
#endif
     :: else
     fi
  :: else
  fi
}

/* Heap::lock, with Heap::learn */
inline lock(k_n, k_r, k_l) {
  atomic { held[k_l] == 0 -> held[k_l] = 1 };
#if MUTANT == 12
  stale_cursor[k_r] = stale_end[k_n];
#endif
  do
  :: k_m < NODES ->
     if
     :: k_m != k_n && GRANT(k_l, k_m) > CLOCK(k_n, k_m) -> apply(k_n, k_m, GRANT(k_l, k_m))
     :: else
     fi;
     k_m++
  :: else -> break
  od;
  k_m = 0;
  unmap_stale(k_n, k_r)
}

/* A program: up to seven calls, the first in the lowest digit. */
#define LOCK(l) (1 + (l))
#define UNLOCK(l) (4 + (l))
#define READ(w) (7 + (w))
#define WRITE(w) (10 + (w))
#define END 0
#define PROGRAM(a, b, c, d, e, f, g) (a) + 16 * ((b) + 16 * ((c) + 16 * ((d) + 16 * ((e) + 16 * ((f) + 16 * (g))))))

proctype rank(byte r; byte n; int program; byte rounds) {
  int rest;
  byte call, f_wanted, f_w, m_serves, u_m, k_m, s_w;
  bit a_tracked, w_any, m_named;
#if MUTANT == 13
  byte t_seen;
#endif
  do
  :: atomic { rest != 0 -> call = rest % 16; rest = rest / 16 };
     if
     :: call >= LOCK(0) && call <= LOCK(2) -> lock(n, r, call - LOCK(0))
     :: call >= UNLOCK(0) && call <= UNLOCK(2) -> unlock(n, r, call - UNLOCK(0))
     :: call >= READ(0) ->
        make_accessible(n, r, (call >= WRITE(0)));
        if
        :: call < WRITE(0) -> assert(PAGE(n, call - READ(0)) == last[call - READ(0)])
        :: else ->
           atomic {
             assert(PAGE(n, call - WRITE(0)) == last[call - WRITE(0)]);
             PAGE(n, call - WRITE(0))++;
             last[call - WRITE(0)]++;
             written[r] = 1
           }
        fi
     fi
  :: atomic { rest == 0 && rounds != 0 -> rounds--; rest = program; call = 0 }
  :: atomic { rest == 0 && rounds == 0 -> done++; call = 0; break }
  od
}

init {
  byte w;
  atomic {
    run server();
#if SCENE == 0
    /* Each of two locks goes to and fro between two nodes. */
    run rank(0, 1, PROGRAM(LOCK(0), WRITE(0), WRITE(0), UNLOCK(0), END, END, END), ROUNDS);
    run rank(1, 1, PROGRAM(LOCK(1), WRITE(1), UNLOCK(1), END, END, END, END), ROUNDS);
    run rank(2, HOME, PROGRAM(LOCK(0), WRITE(0), UNLOCK(0), END, END, END, END), ROUNDS);
    run rank(3, HOME, PROGRAM(LOCK(1), WRITE(1), UNLOCK(1), END, END, END, END), ROUNDS);
#elif SCENE == 1
    /* One lock inside the other: the page becomes stale after rank 0 has written to it. */
    run rank(0, 1, PROGRAM(LOCK(0), WRITE(0), LOCK(1), READ(1), UNLOCK(1), UNLOCK(0), END), ROUNDS);
    run rank(1, 1, PROGRAM(LOCK(1), WRITE(1), UNLOCK(1), END, END, END, END), ROUNDS);
    run rank(2, HOME, PROGRAM(LOCK(0), READ(0), UNLOCK(0), END, END, END, END), ROUNDS);
    run rank(3, HOME, PROGRAM(LOCK(1), WRITE(1), UNLOCK(1), END, END, END, END), ROUNDS);
#elif SCENE == 2
    /* The home writes, the other node reads. Rank 1 has released before it uses the page for the first time. */
    run rank(0, 1, PROGRAM(LOCK(0), READ(0), UNLOCK(0), LOCK(0), READ(0), UNLOCK(0), END), ROUNDS);
    run rank(1, HOME, PROGRAM(LOCK(2), UNLOCK(2), LOCK(0), WRITE(0), UNLOCK(0), END, END), ROUNDS);
    run rank(2, HOME, PROGRAM(LOCK(1), WRITE(1), UNLOCK(1), LOCK(1), WRITE(1), UNLOCK(1), END), ROUNDS);
#elif SCENE == 3
    /* No rank is at the home, and rank 2 on a third node. The page becomes stale while ranks 0 and 1 have written. */
    run rank(0, 1, PROGRAM(LOCK(0), WRITE(0), LOCK(2), UNLOCK(2), UNLOCK(0), END, END), ROUNDS);
    run rank(1, 1, PROGRAM(LOCK(1), WRITE(1), UNLOCK(1), END, END, END, END), ROUNDS);
    run rank(2, 2, PROGRAM(LOCK(2), WRITE(2), UNLOCK(2), LOCK(0), READ(0), UNLOCK(0), END), ROUNDS);
#elif SCENE == 4
    /* The home writes three times, and each interval names another page, too; word 1 is rank 1's own. */
    run rank(0, 1, PROGRAM(LOCK(0), READ(0), UNLOCK(0), LOCK(0), UNLOCK(0), END, END), 1 + ROUNDS);
    run rank(1, 1, PROGRAM(WRITE(1), LOCK(0), UNLOCK(0), END, END, END, END), ROUNDS);
    run rank(2, HOME, PROGRAM(LOCK(0), WRITE(0), UNLOCK(0), END, END, END, END), 2 + ROUNDS);
#elif SCENE == 5
    /* All at once: two copies, and a rank at the home. */
    run rank(0, 1, PROGRAM(LOCK(0), WRITE(0), LOCK(1), READ(1), UNLOCK(1), UNLOCK(0), END), ROUNDS);
    run rank(1, 1, PROGRAM(LOCK(1), WRITE(1), UNLOCK(1), END, END, END, END), ROUNDS);
    run rank(2, 2, PROGRAM(LOCK(0), READ(0), UNLOCK(0), LOCK(1), WRITE(1), UNLOCK(1), END), ROUNDS);
    run rank(3, HOME, PROGRAM(LOCK(1), WRITE(1), UNLOCK(1), END, END, END, END), ROUNDS);
#elif SCENE == 6
    /* Lock 1 brings an interval of rank 3 to the other node before rank 3 gives lock 0 back. */
    run rank(0, 1, PROGRAM(LOCK(0), READ(0), UNLOCK(0), LOCK(0), READ(0), UNLOCK(0), END), ROUNDS);
    run rank(1, 1, PROGRAM(LOCK(1), READ(1), UNLOCK(1), END, END, END, END), ROUNDS);
    run rank(2, HOME, PROGRAM(LOCK(1), UNLOCK(1), END, END, END, END, END), ROUNDS);
    run rank(3, HOME, PROGRAM(LOCK(0), WRITE(0), UNLOCK(0), END, END, END, END), 1 + ROUNDS);
#endif
  };
  done == RANKS;
  do
  :: w < WORDS -> assert(PAGE(HOME, w) == last[w]); w++
  :: else -> break
  od
}
