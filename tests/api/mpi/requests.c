/* Requests of windows among the host's in one array, in every call that completes them; types whose data is right when
 * the request is complete; many at once.
 *
 * usage: requests [OUTSTANDING]
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

enum { kNumbers = 16 };

static MPI_Win window;
static long* memory;
static int next, last;

/* A get from a taken window and a message of the host, together. */
struct both {
  MPI_Request requests[2];
  long got, received;
};

static void start(struct both* both, long sent) {
  both->got = both->received = -1;
  MPI_Rget(&both->got, 1, MPI_LONG, next, 2, 1, MPI_LONG, window, &both->requests[0]);
  MPI_Irecv(&both->received, 1, MPI_LONG, last, 5, MPI_COMM_WORLD, &both->requests[1]);
  MPI_Send(&sent, 1, MPI_LONG, next, 5, MPI_COMM_WORLD);
}

static void check(const struct both* both, long received) {
  CHECK_EQUAL(both->got, 100 * next + 2);
  CHECK_EQUAL(both->received, received);
  CHECK(both->requests[0] == MPI_REQUEST_NULL && both->requests[1] == MPI_REQUEST_NULL);
}

static void every_way(void) {
  struct both both;
  MPI_Status statuses[2];
  int flag = 0, place = 0, places[2], done = 0;

  start(&both, me);
  MPI_Waitall(2, both.requests, statuses);
  check(&both, last);

  start(&both, me + 1);
  MPI_Wait(&both.requests[1], &statuses[0]);
  CHECK_EQUAL(statuses[0].MPI_SOURCE, last);
  MPI_Wait(&both.requests[0], MPI_STATUS_IGNORE);
  check(&both, last + 1);

  start(&both, me + 2);
  for (int left = 2; left > 0; --left) MPI_Waitany(2, both.requests, &place, MPI_STATUS_IGNORE);
  check(&both, last + 2);

  start(&both, me + 3);
  for (int left = 2; left > 0; left -= done) MPI_Waitsome(2, both.requests, &done, places, statuses);
  check(&both, last + 3);

  start(&both, me + 4);
  for (flag = 0; !flag;) MPI_Testall(2, both.requests, &flag, MPI_STATUSES_IGNORE);
  check(&both, last + 4);

  start(&both, me + 5);
  for (int left = 2; left > 0; left -= flag ? 1 : 0) MPI_Testany(2, both.requests, &place, &flag, MPI_STATUS_IGNORE);
  check(&both, last + 5);

  start(&both, me + 6);
  for (int left = 2; left > 0; left -= done) MPI_Testsome(2, both.requests, &done, places, statuses);
  check(&both, last + 6);

  start(&both, me + 7);
  for (flag = 0; !flag;) MPI_Request_get_status(both.requests[0], &flag, MPI_STATUS_IGNORE);
  CHECK_EQUAL(both.got, 100 * next + 2);
  for (flag = 0; !flag;) MPI_Test(&both.requests[0], &flag, MPI_STATUS_IGNORE);
  MPI_Wait(&both.requests[1], MPI_STATUS_IGNORE);
  check(&both, last + 7);
}

/* A request that is freed is completed by the flush. */
static void free_requests(void) {
  const long value = 4711 + me;
  MPI_Request request;
  MPI_Rput(&value, 1, MPI_LONG, next, 4, 1, MPI_LONG, window, &request);
  MPI_Request_free(&request);
  CHECK(request == MPI_REQUEST_NULL);
  MPI_Win_flush(next, window);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_EQUAL(memory[4], 4711 + last);
}

/* A flush completes the operation, and its request can still be waited for. */
static void flush_before_wait(void) {
  long got = -1, old = -1;
  const long one = 1;
  MPI_Request requests[2];
  MPI_Rget(&got, 1, MPI_LONG, next, 2, 1, MPI_LONG, window, &requests[0]);
  MPI_Rget_accumulate(&one, 1, MPI_LONG, &old, 1, MPI_LONG, next, 5, 1, MPI_LONG, MPI_SUM, window, &requests[1]);
  MPI_Win_flush(next, window);
  CHECK_EQUAL(got, 100 * next + 2);
  CHECK_EQUAL(old, 100 * next + 5);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Raccumulate(&one, 1, MPI_LONG, next, 5, 1, MPI_LONG, MPI_SUM, window, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
}

static void many(int count) {
  MPI_Request* const requests = malloc((size_t)count * sizeof *requests);
  long* const numbers = malloc((size_t)count * sizeof *numbers);
  for (int i = 0; i < count; ++i) {
    MPI_Rget(&numbers[i], 1, MPI_LONG, next, i % 3, 1, MPI_LONG, window, &requests[i]);
  }
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < count; ++i) CHECK_EQUAL(numbers[i], 100 * next + i % 3);
  for (int i = 0; i < count; ++i) {
    numbers[i] = i;
    MPI_Rput(&numbers[i], 1, MPI_LONG, next, 8 + i % 3, 1, MPI_LONG, window, &requests[i]);
  }
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  free(requests);
  free(numbers);
}

int main(int argc, char** argv) {
  begin(&argc, &argv, MPI_THREAD_SINGLE);
  next = (me + 1) % ranks;
  last = (me + ranks - 1) % ranks;
  MPI_Win_allocate(kNumbers * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  for (int i = 0; i < kNumbers; ++i) memory[i] = 100 * me + i;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  every_way();
  MPI_Barrier(MPI_COMM_WORLD);
  free_requests();
  flush_before_wait();
  many(argc > 1 ? atoi(argv[1]) : 500);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  return finish();
}
