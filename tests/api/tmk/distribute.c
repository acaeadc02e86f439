/* Objects of the program and of a library reach all processes, wherever each one has loaded them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

#include "library.h"
#include "support.h"

enum { kMany = 5000, kRounds = 20 };

struct Pair {
  double weight;
  char name[24];
  void* shared;
};

static int in_bss;
int in_data = 5;
static struct Pair pair = {1.5, "before", NULL};
static long bss_array[kMany];
static short data_array[kMany] = {1, 2, 3};
static uintptr_t here;

static void change(int round) {
  in_bss = 100 + round;
  in_data = 200 + round;
  pair.weight = 2.5 + round;
  snprintf(pair.name, sizeof pair.name, "round %d", round);
  for (int i = 0; i < kMany; ++i) {
    bss_array[i] = i * 7 + round;
    data_array[i] = (short)(i + round);
  }
  library_object[3] = 300 + round;
}

static void check(int round) {
  char name[24];
  snprintf(name, sizeof name, "round %d", round);
  CHECK(in_bss == 100 + round);
  CHECK(in_data == 200 + round);
  CHECK(pair.weight == 2.5 + round && strcmp(pair.name, name) == 0);
  for (int i = 0; i < kMany; ++i) CHECK(bss_array[i] == i * 7 + round && data_array[i] == (short)(i + round));
  CHECK(library_object[3] == 300 + round && library_word() == 300 + round);
}

static void distribute_all(void) {
  Tmk_distribute(&in_bss, sizeof in_bss);
  Tmk_distribute(&in_data, sizeof in_data);
  Tmk_distribute(&pair, sizeof pair);
  Tmk_distribute(bss_array, sizeof bss_array);
  Tmk_distribute(data_array, sizeof data_array);
  Tmk_distribute(&library_object[3], sizeof library_object[3]);
}

/* Each process distributes in its turn; a barrier is a release and an acquire. */
static void by_barriers(void) {
  for (int round = 0; round < kRounds; ++round) {
    if ((unsigned)round % Tmk_nprocs == Tmk_proc_id) {
      change(round);
      distribute_all();
    }
    Tmk_barrier(1);
    check(round);
    Tmk_barrier(2);
  }
}

/* One process distributes and adds to a counter under a lock; the others see the object with the counter. */
static void by_locks(void) {
  static int* counter;
  static int copy;
  if (Tmk_proc_id == 0) {
    counter = Tmk_malloc(sizeof *counter);
    Tmk_distribute(&counter, sizeof counter);
    Tmk_distribute(counter, sizeof *counter); /* in the heap: nothing to do */
    Tmk_distribute(NULL, 0);
  }
  Tmk_barrier(0);
  for (int seen = 0; seen < kRounds;) {
    Tmk_lock_acquire(9);
    if (Tmk_proc_id == 0) {
      ++*counter;
      copy = *counter;
      Tmk_distribute(&copy, sizeof copy);
    }
    seen = *counter;
    CHECK(copy == seen);
    Tmk_lock_release(9);
  }
}

/* All distribute at once, each its own element. */
static void all_at_once(void) {
  static int elements[64];
  static int objects[64];
  for (int round = 1; round <= kRounds; ++round) {
    const unsigned mine = Tmk_proc_id;
    elements[mine] = round * 1000 + (int)mine;
    Tmk_distribute(&elements[mine], sizeof elements[mine]);
    objects[mine] = round;
    Tmk_distribute(&objects[mine], sizeof objects[mine]);
    Tmk_barrier(5);
    for (unsigned i = 0; i < Tmk_nprocs; ++i) CHECK(elements[i] == round * 1000 + (int)i && objects[i] == round);
    Tmk_barrier(6);
  }
}

int main(int argc, char** argv) {
  Tmk_startup(argc, argv);
  by_barriers();
  by_locks();
  all_at_once();
  /* Where the loader has put this program. */
  here = (uintptr_t)&here;
  printf("address %lx\npassed %u\n", (unsigned long)here, Tmk_proc_id);
  return 0;
}
