divert(-1)
# The macros of Argonne National Laboratory (PARMACS), which the programs of SPLASH use, on Grapnel's shared heap:
#
#   m4 PREFIX/share/grapnel/parmacs.m4 program.c.in > program.c
#   cc -no-pie -fno-pie program.c -o program $(pkg-config --cflags --libs grapnel-tmk)
#   grapnel run -n 4 --nodes 2 -- ./program
#
# What each macro does: grapnel/parmacs.h. How to port a program: docs/tmk.md.
# SPDX-License-Identifier: Apache-2.0

# Words of C that m4 would take for its own.
undefine(`decr')
undefine(`eval')
undefine(`format')
undefine(`incr')
undefine(`index')
undefine(`len')
undefine(`shift')
undefine(`substr')
undefine(`translit')
undefine(`unix')

# The begin and the end.
define(`MAIN_ENV', `#include <grapnel/parmacs.h>
')
define(`EXTERN_ENV', `#include <grapnel/parmacs.h>
')
define(`ENV', `')
define(`MAIN_INITENV', `{ parmacs_start(); }')
define(`MAIN_END', `{ exit(0); }')

# CREATE(function): one process more runs it. CREATE(function, n): n processes, of which the caller is one.
define(`CREATE', `{ parmacs_create((void (*)(void))($1), ifelse(`$2', `', `1', `(int)($2) - 1')); ifelse(`$2', `', `', `($1)();') }')
define(`WAIT_FOR_END', `{ parmacs_wait_for_end(); }')

# Memory. Places on nodes are left to the heap. The semicolons belong to the macros: programs leave them out.
define(`G_MALLOC', `parmacs_malloc($1);')
define(`NU_MALLOC', `parmacs_malloc($1);')
define(`G_FREE', `Tmk_free($1);')
define(`NU_FREE', `Tmk_free($1);')

# Locks, and arrays of locks.
define(`LOCKDEC', `int $1;')
define(`LOCKINIT', `{ ($1) = parmacs_new(1); }')
define(`LOCK', `{ Tmk_lock_acquire((unsigned)($1)); }')
define(`UNLOCK', `{ Tmk_lock_release((unsigned)($1)); }')
define(`ALOCKDEC', `int $1[$2];')
define(`ALOCKINIT', `{ int parmacs_i, parmacs_first = parmacs_new((int)($2));
  for (parmacs_i = 0; parmacs_i < (int)($2); ++parmacs_i) ($1)[parmacs_i] = parmacs_first + parmacs_i; }')
define(`ALOCK', `{ Tmk_lock_acquire((unsigned)($1)[$2]); }')
define(`AULOCK', `{ Tmk_lock_release((unsigned)($1)[$2]); }')
define(`AGETL', `(($1)[$2])')

# Barriers.
define(`BARDEC', `int $1;')
define(`BARINIT', `{ ($1) = parmacs_new(1); }')
define(`BARRIER', `{ parmacs_barrier($1, (int)($2)); }')

# Pauses: flags to wait for.
define(`PAUSEDEC', `int $1;')
define(`PAUSEINIT', `{ ($1) = parmacs_new(1); }')
define(`SETPAUSE', `{ parmacs_set_pause($1); }')
define(`CLEARPAUSE', `{ parmacs_clear_pause($1); }')
define(`WAITPAUSE', `{ parmacs_wait_pause($1); }')
define(`EVENT', `WAITPAUSE($1)')
define(`PAUSE', `WAITPAUSE($1)')

# Conditions.
define(`CONDVARDEC', `int $1;')
define(`CONDVARINIT', `{ ($1) = parmacs_new(1); }')
define(`CONDVARWAIT', `{ parmacs_wait($1, $2); }')
define(`CONDVARSIGNAL', `{ parmacs_signal($1); }')
define(`CONDVARBCAST', `{ parmacs_broadcast($1); }')

# Loops that processes share: GETSUB(loop, variable, last, processes).
define(`GSDEC', `int $1;')
define(`GSINIT', `{ ($1) = parmacs_new(1); }')
define(`GS_INIT', defn(`GSINIT'))
define(`GETSUB', `{ ($2) = parmacs_next($1, (long)($3), (int)($4)); }')

define(`CLOCK', `{ ($1) = parmacs_clock(); }')
define(`GET_PID', `{ ($1) = (int)Tmk_proc_id; }')

# Marks for tools that measure.
define(`SPLASH3_ROI_BEGIN', `')
define(`SPLASH3_ROI_END', `')
define(`AUG_ON', `')
define(`AUG_OFF', `')
define(`TRACE_ON', `')
define(`TRACE_OFF', `')
define(`REF_TRACE_ON', `')
define(`REF_TRACE_OFF', `')
divert(0)dnl
