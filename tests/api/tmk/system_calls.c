/* Wrapped system calls on pages of the heap that are absent, clean or written in this process.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "support.h"

enum { kPage = 4096, kBytes = 4 * kPage, kBlocks = 16 };

static char *sources[kBlocks], *targets[kBlocks];
static int sources_used, targets_used;
static char pattern[kBytes];

/* Blocks whose pages the last process has written: absent elsewhere. */
static void make_blocks(void) {
  if (Tmk_proc_id == Tmk_nprocs - 1) {
    for (int i = 0; i < kBlocks; ++i) {
      sources[i] = Tmk_malloc(kBytes);
      targets[i] = Tmk_malloc(kBytes);
      memcpy(sources[i], pattern, kBytes);
      memset(targets[i], 'z', kBytes);
    }
    Tmk_distribute(sources, sizeof sources);
    Tmk_distribute(targets, sizeof targets);
  }
  Tmk_barrier(0);
}

/* From the end: a fault maps pages behind the one that faulted, too. */
static char* source(void) {
  CHECK(sources_used < kBlocks);
  return sources[kBlocks - ++sources_used];
}

static char* target(void) {
  CHECK(targets_used < kBlocks);
  return targets[kBlocks - ++targets_used];
}

static int temporary_file(void) {
  const int file = memfd_create("tmk-test", 0);
  CHECK(file >= 0);
  return file;
}

static void test_pipe(void) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  CHECK(fcntl(ends[1], F_SETPIPE_SZ, 2 * kBytes) >= kBytes);
  CHECK(write(ends[1], source(), kBytes) == kBytes);
  char* const got = target();
  CHECK(read(ends[0], got, kBytes) == kBytes);
  CHECK(memcmp(got, pattern, kBytes) == 0);
  close(ends[0]);
  close(ends[1]);
}

static void test_file(void) {
  const int file = temporary_file();
  CHECK(pwrite(file, source(), kBytes, 100) == kBytes);
  char* const got = target();
  memset(got, 0, 1); /* the first page is written, the others are absent */
  CHECK(pread(file, got, kBytes, 100) == kBytes);
  CHECK(memcmp(got, pattern, kBytes) == 0);
  char* const out = source();
  struct iovec pieces[2] = {{out, kPage}, {out + 2 * kPage, kPage}};
  CHECK(lseek(file, 0, SEEK_SET) == 0);
  CHECK(writev(file, pieces, 2) == 2 * kPage);
  char* const in = target();
  pieces[0].iov_base = in + kPage;
  pieces[1].iov_base = in + 3 * kPage;
  CHECK(preadv(file, pieces, 2, 0) == 2 * kPage);
  CHECK(memcmp(in + kPage, pattern, kPage) == 0 && memcmp(in + 3 * kPage, pattern + 2 * kPage, kPage) == 0);
  close(file);
}

static void test_socket(void) {
  int ends[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  CHECK(send(ends[0], source(), kBytes, 0) == kBytes);
  char* const got = target();
  CHECK(recv(ends[1], got, kBytes, MSG_WAITALL) == kBytes);
  CHECK(memcmp(got, pattern, kBytes) == 0);
  close(ends[0]);
  close(ends[1]);
}

static void test_stream(void) {
  FILE* const stream = fdopen(temporary_file(), "w+");
  CHECK(stream != NULL);
  CHECK(fwrite(source(), 16, kBytes / 16, stream) == kBytes / 16);
  rewind(stream);
  char* const got = target();
  errno = 0;
  CHECK(fread(got, 1000, 16, stream) == 16); /* elements that lie across pages */
  CHECK(errno == 0);
  CHECK(fread(got + 16000, 1000, 16, stream) == 0 && feof(stream)); /* 384 bytes: no whole element */
  CHECK(memcmp(got, pattern, kBytes) == 0);
  fclose(stream);
}

static void test_paths(void) {
  char* const path = target();
  char* const filled = target();
  strcpy(path, "/proc/self/status"); /* the release makes the page clean */
  Tmk_lock_acquire(Tmk_proc_id);
  Tmk_lock_release(Tmk_proc_id);
  const int file = open(path, O_RDONLY);
  CHECK(file >= 0);
  close(file);
  FILE* const stream = fopen(path, "r");
  CHECK(stream != NULL);
  fclose(stream);
  CHECK(stat(path, (struct stat*)filled) == 0);
  CHECK(S_ISREG(((struct stat*)filled)->st_mode));
  CHECK(open("/tmp/no/such/file", O_RDWR | O_CREAT, 0600) == -1 && errno == ENOENT);
}

/* What is no address at all is still EFAULT. */
static void test_fault(void) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  const char* volatile nowhere = (const char*)16; /* volatile: the compiler would warn */
  CHECK(write(ends[1], nowhere, 8) == -1 && errno == EFAULT);
  close(ends[0]);
  close(ends[1]);
}

int main(int argc, char** argv) {
  memset(pattern, 'p', sizeof pattern);
  for (int i = 10; i < kBytes; ++i) pattern[i] = (char)(i * 31 + i / kPage);
  Tmk_startup(argc, argv);
  make_blocks();
  if (Tmk_proc_id == 0) {
    test_pipe();
    test_file();
    test_socket();
    test_stream();
    test_paths();
    test_fault();
  }
  Tmk_barrier(1);
  printf("passed %u\n", Tmk_proc_id);
  return 0;
}
