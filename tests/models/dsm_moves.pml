/* A move of a page's home in a barrier of the shared heap: src/dsm, by its files moves.cpp, handlers.cpp, fetch.cpp,
   fault.cpp and synchronize.cpp. The page has two words. Word 0 was written before the barrier, and all ranks read it
   after it; word 1 is written after it, by one rank, and read by all behind the next barrier.

   Checked: each read finds what was written; no request is refused; everybody finishes.

   In SCENE 1 a second thread of a rank reads word 0 all the time: before, in and after the barrier.

   A step is one load or store of a shared word, or several of which the others see one at most. Left out: what dsm.pml
   has (a server's steps, diffs and merges by the byte, locks, notices that arrive beside a fetch), other pages, and the
   directory. */

/* 1 Bug::moved_while_stale · 2 Bug::moved_unserved · 3 Bug::moved_unknown · 4 Bug::moved_still_mapped ·
   5 Bug::moved_not_awaited · 6 the new home is the home before it has the content ·
   7 Heap::map_home_page does not look at the home under the mutex (SCENE 1) · 8 Heap::fetch does not look at the home
   after PageWords::take (SCENE 1) */
#ifndef MUTANT
#define MUTANT 0
#endif
#ifndef SCENE
#define SCENE 0
#endif
#ifndef WRITER                   /* of word 1 */
#define WRITER 0
#endif

#define OLD 0
#define NEW 1
#define OTHER 2
#define NODES 3
#define RANKS 4                  /* 0 and 1 at the old home, 2 at the new one, 3 at another node */
#define NODE(r) ((r) < 2 -> OLD : (r) - 1)
#define READER 4                 /* the second thread's messages */

/* By node. */
byte page[NODES * 2];            /* HeapMemory::page */
#define PAGE(n, w) page[(n) * 2 + (w)]
byte home[NODES];                /* PageWords::home */
byte have[NODES];                /* PageWords::have, with what is wanted */
#define ABSENT 0
#define STALE 1
#define VALID 2
bit busy[NODES];                 /* PageWords::busy */
bit served[NODES];               /* PageWords::served, beyond named */
bit left[NODES];                 /* Writers::kLeft */
byte begun[NODES];               /* NodeWords::step_begun */
byte era[NODES];                 /* NodeWords::step_done */

/* By rank. */
bit mapped[RANKS];
bit watched[RANKS];
bit written[RANKS];

/* By rank, and the second thread: a message to a server, and its answer. */
#define NO_MESSAGE 0
#define FETCH 1                  /* Call::fetch */
#define MOVED 2                  /* the same, of a page that moves to the asker */
#define DIFFS 3                  /* Call::diffs: word 1 */
byte message[RANKS + 1];
byte to[RANKS + 1];
byte of_era[RANKS + 1];
byte content[(RANKS + 1) * 2];
#define CONTENT(r, w) content[(r) * 2 + (w)]
bit gone[RANKS + 1];             /* the answer: the home has moved */

byte arrived[2];                 /* at the barrier behind which the home moves, and at the next one */
bit names[NODES];                /* an interval of the node names the page, since the first barrier */
byte done;

/* Handlers::place_of: a message that is not enabled is retried. */
#if MUTANT == 5
#define IS_ENABLED(r, n) (message[r] != NO_MESSAGE && to[r] == (n))
#else
#define IS_ENABLED(r, n) (message[r] != NO_MESSAGE && to[r] == (n) && \
                          (message[r] == MOVED || home[n] == (n) || of_era[r] <= era[n]))
#endif

proctype server(byte n) {
  byte r;
end:
  do
  :: atomic {
       if
       :: IS_ENABLED(0, n) -> r = 0
       :: IS_ENABLED(1, n) -> r = 1
       :: IS_ENABLED(2, n) -> r = 2
       :: IS_ENABLED(3, n) -> r = 3
       :: IS_ENABLED(4, n) -> r = READER
       fi;
       assert(of_era[r] <= era[n] + 1);
       if
       :: message[r] == DIFFS ->
          assert(home[n] == n || MUTANT == 3 || MUTANT == 5);
          PAGE(n, 1) = CONTENT(r, 1)
       :: message[r] == FETCH && home[n] != n && MUTANT != 3 && MUTANT != 5 ->
          assert(of_era[r] <= era[n] && r == READER);
          gone[r] = 1
       :: else ->
          assert(home[n] == n || left[n] || MUTANT == 3 || MUTANT == 5);
          served[n] = 1;                                         /* NodeLog::count_serve */
          CONTENT(r, 0) = PAGE(n, 0);
          CONTENT(r, 1) = PAGE(n, 1)
       fi;
       message[r] = NO_MESSAGE;
       r = 0
     }
  od
}

inline ask(a_r, a_kind, a_to, a_era) {
  atomic { of_era[a_r] = a_era; to[a_r] = a_to; gone[a_r] = 0; message[a_r] = a_kind };
  message[a_r] == NO_MESSAGE
}

/* Heap::make_accessible, in a fault of rank m_r's; m_t is the thread that faults. */
inline make_accessible(m_n, m_r, m_t) {
  do
  :: mapped[m_r] -> break
  :: !mapped[m_r] && home[m_n] == m_n ->
     /* Heap::map_home_page, under Heap::mapping_ */
     atomic {
       if
       :: home[m_n] == m_n || MUTANT == 7 ->
          watched[m_r] = served[m_n];
          written[m_r] = 1;
          mapped[m_r] = 1
       :: else
       fi
     }
  :: !mapped[m_r] && home[m_n] != m_n ->
     atomic {
       if
       :: have[m_n] == VALID -> watched[m_r] = 1; written[m_r] = 0; mapped[m_r] = 1
       :: else
       fi
     };
     if
     :: mapped[m_r]
     :: else -> fetch(m_n, m_t)
     fi
  od
}

/* Heap::fetch, and Heap::wait_for_step where the home has moved */
inline fetch(f_n, f_t) {
  f_era = era[f_n];
#if MUTANT == 8
  f_home = home[f_n];
#endif
  atomic { busy[f_n] == 0 -> busy[f_n] = 1 };
#if MUTANT != 8
  f_home = home[f_n];
#endif
  if
  :: have[f_n] != VALID && f_home != f_n ->
     ask(f_t, FETCH, f_home, f_era);
     if
     :: gone[f_t]
     :: else ->
        atomic { PAGE(f_n, 0) = CONTENT(f_t, 0); PAGE(f_n, 1) = CONTENT(f_t, 1); have[f_n] = VALID }
     fi
  :: else
  fi;
  busy[f_n] = 0;
  if
  :: gone[f_t] -> gone[f_t] = 0; era[f_n] > f_era
  :: else
  fi;
  atomic { f_era = 0; f_home = 0 }
}

/* Heap::apply_moves, in Heap::take_node_step */
inline apply_moves(s_n, s_r) {
  if
  :: s_n == NEW ->
     atomic { busy[NEW] == 0 -> busy[NEW] = 1 };
#if MUTANT == 6
     home[NEW] = NEW;
#endif
#if MUTANT != 1
     /* Heap::get_pages_that_come */
     if
     :: have[NEW] != VALID ->
        ask(s_r, MOVED, OLD, era[NEW] + 1);
        atomic { PAGE(NEW, 0) = CONTENT(s_r, 0); PAGE(NEW, 1) = CONTENT(s_r, 1) }
     :: else
     fi;
#endif
#if MUTANT != 2
     served[NEW] = 1;
#endif
     home[NEW] = NEW;
     busy[NEW] = 0
  :: s_n == OLD ->
     left[OLD] = 1;
     have[OLD] = ABSENT;
     home[OLD] = NEW
  :: else ->
#if MUTANT != 3
     home[s_n] = NEW
#else
     skip
#endif
  fi
}

/* Heap::unmap_moved */
inline unmap_moved(u_n, u_r) {
#if MUTANT != 4
  if
  :: u_n == OLD -> atomic { mapped[u_r] = 0; watched[u_r] = 0; written[u_r] = 0 }
  :: else
  fi
#else
  skip
#endif
}

/* Heap::release_writes */
inline release_writes(w_n, w_r) {
  atomic {
    /* Heap::watch_what_was_served */
    if
    :: home[w_n] == w_n && mapped[w_r] && served[w_n] -> watched[w_r] = 1
    :: else
    fi;
    w_any = (mapped[w_r] && watched[w_r] && written[w_r]);
    written[w_r] = 0
  };
  if
  :: w_any && home[w_n] == w_n -> names[w_n] = (names[w_n] || served[w_n])
  :: w_any && home[w_n] != w_n ->
     if
     :: PAGE(w_n, 1) == 2 -> CONTENT(w_r, 1) = 2; ask(w_r, DIFFS, home[w_n], era[w_n])
     :: else
     fi;
     names[w_n] = 1
  :: else
  fi;
  w_any = 0
}

/* Heap::take_node_step: the first rank of the node takes it. */
inline take_node_step(t_n, t_r, t_number) {
  atomic {
    t_first = (begun[t_n] == t_number);
    if
    :: t_first -> begun[t_n] = t_number + 1
    :: else
    fi
  };
  if
  :: t_first && t_number == 0 -> apply_moves(t_n, t_r)
  :: t_first && t_number != 0 ->
     atomic {                                                    /* NodeLog::apply */
       if
       :: home[t_n] != t_n && have[t_n] == VALID &&
          ((t_n != OLD && names[OLD]) || (t_n != NEW && names[NEW]) || (t_n != OTHER && names[OTHER])) ->
          have[t_n] = STALE
       :: else
       fi
     }
  :: else
  fi;
  atomic {
    if
    :: t_first -> era[t_n] = t_number + 1; t_first = 0
    :: else
    fi
  };
  era[t_n] > t_number
}

proctype rank(byte r) {
  byte f_era, f_home, n;
  bit t_first, w_any;
  n = NODE(r);
  /* What it wrote before is released. */
  atomic { arrived[0]++; arrived[0] == RANKS };
  take_node_step(n, r, 0);
  unmap_moved(n, r);
  make_accessible(n, r, r);
  assert(PAGE(n, 0) == 1);
  atomic {
    if
    :: r == WRITER -> PAGE(n, 1) = 2; written[r] = 1
    :: else
    fi
  };
  release_writes(n, r);
  atomic { arrived[1]++; arrived[1] == RANKS };
  take_node_step(n, r, 1);
  /* Heap::unmap_stale */
  atomic {
    if
    :: home[n] != n && have[n] != VALID -> mapped[r] = 0; watched[r] = 0
    :: else
    fi
  };
  make_accessible(n, r, r);
  assert(PAGE(n, 0) == 1 && PAGE(n, 1) == 2);
  done++
}

#if SCENE == 1
/* Of rank r, whose mappings it shares. */
proctype reader(byte r) {
  byte f_era, f_home, n, times;
  n = NODE(r);
  do
  :: times < 2 ->
     make_accessible(n, r, READER);
     atomic { assert(!mapped[r] || PAGE(n, 0) == 1); times++ }
  :: times == 2 -> break
  od;
  done++
}
#endif

inline choose_copy(c_n, c_r) {
  if
  :: have[c_n] = VALID; PAGE(c_n, 0) = 1; mapped[c_r] = 1; watched[c_r] = 1
  :: have[c_n] = STALE
  fi
}

init {
  atomic {
    PAGE(OLD, 0) = 1;
    mapped[0] = 1;               /* bare */
    mapped[1] = 1;
    choose_copy(NEW, 2);
    choose_copy(OTHER, 3);
    run server(OLD);
    run server(NEW);
    run server(OTHER);
    run rank(0);
    run rank(1);
    run rank(2);
    run rank(3);
#if SCENE == 1
    if :: run reader(0) :: run reader(2) :: run reader(3) fi;
#endif
  };
#if SCENE == 1
  done == RANKS + 1
#else
  done == RANKS
#endif
}
