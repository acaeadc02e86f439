# SPDX-License-Identifier: Apache-2.0
"""A library that makes UCX's waiting give the processor away, for MPIs that spin by it.

MPICH waits in ucp_worker_progress and never yields: four of its ranks on two processors take a time slice for each
message. Preloaded, the library yields after 50 calls in a row that found nothing.
"""

import shutil
import subprocess
from pathlib import Path

_SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>

unsigned ucp_worker_progress(void* worker) {
  static unsigned (*next)(void*);
  static __thread unsigned empty_calls;
  if (!next) next = (unsigned (*)(void*))dlsym(RTLD_NEXT, "ucp_worker_progress");
  unsigned found = next(worker);
  if (found) {
    empty_calls = 0;
  } else if (++empty_calls >= 50) {
    empty_calls = 0;
    sched_yield();
  }
  return found;
}
"""


def build(folder):
    """Builds the library in `folder` by the machine's C compiler. Answers its path. Errors: RuntimeError."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise RuntimeError("--yield needs a C compiler: there is no cc in PATH")
    library = Path(folder, "libyield.so")
    done = subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-x", "c", "-", "-o", library, "-ldl"], input=_SOURCE,
                          text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"--yield: {compiler} failed: {done.stderr.strip()}")
    return library
