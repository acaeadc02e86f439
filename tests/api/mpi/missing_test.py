# SPDX-License-Identifier: Apache-2.0
"""A rank that has not loaded the library: the ranks that wait for it in MPI_Init name what is missing.

missing_test.py --program BIN/mpi_unlinked --library LIB/libgrapnel-mpi.so --launcher BIN/mpiexec [unittest arguments]
"""
import argparse
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "launch"))
import jobs  # noqa: E402
from jobs import OPTIONS  # noqa: E402
from mpi_test import with_options  # noqa: E402

# Loads the library in every rank but the one whose number comes first.
LOADING = ('without=$0; export LD_PRELOAD=$1; shift; '
           '[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != "$without" ] || unset LD_PRELOAD; exec "$@"')
LINE = ("grapnel: warning: MPI_Init of rank {} has waited 5 s for a rank that has not come; load libgrapnel-mpi.so in all "
        "ranks of the job, or in none")


class Missing(jobs.Case):
    def warning_without(self, rank):
        job = self.start("-n", 2, "sh", "-c", LOADING, rank, OPTIONS.library, OPTIONS.probe, 60,
                         launcher=with_options(OPTIONS.launcher))
        line = job.stderr.readline()
        job.terminate()
        job.communicate(timeout=20)
        self.wait_for_the_ends()
        self.remove_what_mpirun_left()
        return line

    def test_the_wait_is_named(self):
        for rank in (0, 1):
            self.assertEqual(self.warning_without(rank).rstrip("\n"), LINE.format(1 - rank))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--program", dest="probe", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--launcher", required=True)
    jobs.main(parser)
