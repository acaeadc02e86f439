/* SPDX-License-Identifier: Apache-2.0 */
/* Bare active messages: see raw_ucx.h. */
#define _GNU_SOURCE
#include "raw_ucx.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

enum { kPing = 1, kAnswer, kData, kFetch };
enum { kLargest = 1 << 20, kPlaces = 2 };

struct stream {
  uint64_t bytes, piece, eager;
};

struct raw_ucx {
  ucp_context_h context;
  ucp_worker_h worker;
  ucp_ep_h endpoint; /* of the asking side */
  char* buffer;      /* what is sent by the server, and where rendezvous data arrives */
  size_t landing;    /* where in it the next one lands */
  uint64_t answers, arrived, sending;
  uint64_t expected; /* of the stream that is coming; 0 where nobody waits for an answer */
  ucp_ep_h answer_to;
  uint32_t number;
  uint32_t *phase, *awake;
  pthread_t thread;
};

static void check(ucs_status_t status, const char* doing) {
  if (status == UCS_OK) return;
  fprintf(stderr, "raw UCX limit: cannot %s: %s\n", doing, ucs_status_string(status));
  exit(1);
}

static void on_sent(void* request, ucs_status_t status, void* raw) {
  check(status, "send");
  --((struct raw_ucx*)raw)->sending;
  ucp_request_free(request);
}

static void send_message(struct raw_ucx* raw, ucp_ep_h to, unsigned id, const void* header, size_t header_bytes,
                         const void* data, size_t bytes, uint32_t flags) {
  const ucp_request_param_t param = {
      .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS,
      .flags = flags,
      .cb.send = on_sent,
      .user_data = raw};
  const ucs_status_ptr_t request = ucp_am_send_nbx(to, id, header, header_bytes, data, bytes, &param);
  if (UCS_PTR_IS_ERR(request)) check(UCS_PTR_STATUS(request), "send");
  if (request != NULL) ++raw->sending;
}

static void send_stream(struct raw_ucx* raw, ucp_ep_h to, const char* source, const struct stream* stream,
                        uint32_t flags) {
  if (stream->eager) flags |= UCP_AM_SEND_FLAG_EAGER;
  for (uint64_t sent = 0; sent < stream->bytes; sent += stream->piece) {
    send_message(raw, to, kData, stream, sizeof *stream, source + sent % kLargest, stream->piece, flags);
  }
}

static ucs_status_t on_ping(void* raw, const void* header, size_t header_bytes, void* data, size_t bytes,
                            const ucp_am_recv_param_t* param) {
  (void)data, (void)bytes;
  send_message(raw, param->reply_ep, kAnswer, header, header_bytes, NULL, 0, 0);
  return UCS_OK;
}

static ucs_status_t on_answer(void* raw, const void* header, size_t header_bytes, void* data, size_t bytes,
                              const ucp_am_recv_param_t* param) {
  (void)header, (void)header_bytes, (void)data, (void)bytes, (void)param;
  ++((struct raw_ucx*)raw)->answers;
  return UCS_OK;
}

static ucs_status_t on_fetch(void* raw, const void* header, size_t header_bytes, void* data, size_t bytes,
                             const ucp_am_recv_param_t* param) {
  (void)header_bytes, (void)data, (void)bytes;
  send_stream(raw, param->reply_ep, ((struct raw_ucx*)raw)->buffer, header, 0);
  return UCS_OK;
}

/* The server answers the last message of a stream. */
static void count_arrival(struct raw_ucx* raw, size_t bytes) {
  raw->arrived += bytes;
  if (raw->phase == NULL || raw->arrived < raw->expected) return;
  raw->arrived = 0;
  send_message(raw, raw->answer_to, kAnswer, &raw->expected, sizeof raw->expected, NULL, 0, 0);
}

static void on_data_here(void* request, ucs_status_t status, size_t bytes, void* raw) {
  check(status, "receive");
  count_arrival(raw, bytes);
  ucp_request_free(request);
}

/* As the blocks that are put and fetched against it: what is sent to the server has places of its own, as the second of
 * two to one place would have to wait for the first; what comes back goes to one. A line that is written again is still
 * in the cache. */
static char* next_landing(struct raw_ucx* raw, size_t bytes) {
  char* const place = raw->buffer + raw->landing;
  if (raw->phase != NULL) raw->landing = (raw->landing + bytes) % ((size_t)kPlaces * kLargest);
  return place;
}

/* Data that comes by rendezvous is received into the buffer; other data is already here, and bare means that nobody
 * copies it. */
static ucs_status_t on_data(void* arg, const void* header, size_t header_bytes, void* data, size_t bytes,
                            const ucp_am_recv_param_t* param) {
  struct raw_ucx* const raw = arg;
  const struct stream* const stream = header;
  const ucp_request_param_t how = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
                                   .cb.recv_am = on_data_here,
                                   .user_data = raw};
  (void)header_bytes;
  raw->expected = stream->bytes;
  raw->answer_to = param->reply_ep;
  if (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) {
    const ucs_status_ptr_t request = ucp_am_recv_data_nbx(raw->worker, data, next_landing(raw, bytes), bytes, &how);
    if (UCS_PTR_IS_ERR(request)) check(UCS_PTR_STATUS(request), "receive");
    if (request != NULL) return UCS_OK;
  }
  count_arrival(raw, bytes);
  return UCS_OK;
}

static void set_handler(struct raw_ucx* raw, unsigned id, ucp_am_recv_callback_t callback) {
  const ucp_am_handler_param_t param = {
      .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG,
      .id = id,
      .cb = callback,
      .arg = raw};
  check(ucp_worker_set_am_recv_handler(raw->worker, &param), "set a handler");
}

/* UCX names a transport's setting with the transport's prefix from 1.17 on. */
static void set_segments(ucp_config_t* config, size_t bytes) {
  unsigned major, minor, release;
  char value[32];
  ucp_get_version(&major, &minor, &release);
  const int prefixed = major > 1 || minor >= 17;
  snprintf(value, sizeof value, "%zu", bytes);
  check(ucp_config_modify(config, prefixed ? "TCP_TX_SEG_SIZE" : "TX_SEG_SIZE", value), "set the segment size");
  check(ucp_config_modify(config, prefixed ? "TCP_RX_SEG_SIZE" : "RX_SEG_SIZE", value), "set the segment size");
}

struct raw_ucx* raw_ucx_open(size_t segment_bytes) {
  struct raw_ucx* const raw = calloc(1, sizeof *raw);
  ucp_config_t* config;
  const ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_AM};
  // A server's worker is made here and used by its thread: UCX 1.18 ends a process that does so with mode SINGLE. It
  // takes no locks with this one either.
  const ucp_worker_params_t worker_params = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                             .thread_mode = UCS_THREAD_MODE_SERIALIZED};
  check(ucp_config_read(NULL, NULL, &config), "read the configuration");
  if (getenv("UCX_TLS") == NULL) check(ucp_config_modify(config, "TLS", "tcp"), "choose tcp");
  if (getenv("UCX_NET_DEVICES") == NULL) check(ucp_config_modify(config, "NET_DEVICES", "lo"), "choose loopback");
  if (segment_bytes != 0) set_segments(config, segment_bytes);
  check(ucp_init(&params, config, &raw->context), "make a context");
  ucp_config_release(config);
  check(ucp_worker_create(raw->context, &worker_params, &raw->worker), "make a worker");
  raw->buffer = aligned_alloc(4096, (size_t)kPlaces * kLargest);
  memset(raw->buffer, 1, (size_t)kPlaces * kLargest);
  set_handler(raw, kPing, on_ping);
  set_handler(raw, kAnswer, on_answer);
  set_handler(raw, kData, on_data);
  set_handler(raw, kFetch, on_fetch);
  return raw;
}

static void* serve(void* arg) {
  struct raw_ucx* const raw = arg;
  const struct timespec patience = {.tv_sec = 1, .tv_nsec = 0};
  for (;;) {
    const uint32_t phase = __atomic_load_n(raw->phase, __ATOMIC_ACQUIRE);
    if (phase == UINT32_MAX) return NULL;
    if (phase != raw->number) {
      uint32_t mine = raw->number;
      __atomic_compare_exchange_n(raw->awake, &mine, 0, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
      syscall(SYS_futex, raw->phase, FUTEX_WAIT, phase, &patience, NULL, 0);
      continue;
    }
    __atomic_store_n(raw->awake, raw->number, __ATOMIC_RELEASE);
    for (int i = 0; i < 32; ++i) ucp_worker_progress(raw->worker);
  }
}

void raw_ucx_serve(struct raw_ucx* raw, uint32_t number, uint32_t* phase, uint32_t* awake) {
  raw->number = number;
  raw->phase = phase;
  raw->awake = awake;
  if (pthread_create(&raw->thread, NULL, serve, raw) != 0) check(UCS_ERR_NO_RESOURCE, "start the server's thread");
}

size_t raw_ucx_address(struct raw_ucx* raw, void* buffer, size_t capacity) {
  ucp_address_t* address;
  size_t bytes;
  check(ucp_worker_get_address(raw->worker, &address, &bytes), "tell the address");
  if (bytes > capacity) check(UCS_ERR_BUFFER_TOO_SMALL, "tell the address");
  memcpy(buffer, address, bytes);
  ucp_worker_release_address(raw->worker, address);
  return bytes;
}

void raw_ucx_connect(struct raw_ucx* raw, const void* address) {
  const ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = address};
  check(ucp_ep_create(raw->worker, &params, &raw->endpoint), "connect");
}

void raw_ucx_round_trip(struct raw_ucx* raw) {
  const uint64_t awaited = raw->answers + 1;
  send_message(raw, raw->endpoint, kPing, &awaited, sizeof awaited, NULL, 0, UCP_AM_SEND_FLAG_REPLY);
  while (raw->answers < awaited || raw->sending != 0) ucp_worker_progress(raw->worker);
}

void raw_ucx_send(struct raw_ucx* raw, const void* source, size_t bytes, size_t piece, int eager) {
  const uint64_t awaited = raw->answers + 1;
  const struct stream stream = {bytes, piece, (uint64_t)eager};
  send_stream(raw, raw->endpoint, source, &stream, UCP_AM_SEND_FLAG_REPLY);
  while (raw->answers < awaited || raw->sending != 0) ucp_worker_progress(raw->worker);
}

void raw_ucx_fetch(struct raw_ucx* raw, size_t bytes, size_t piece, int eager) {
  const struct stream stream = {bytes, piece, (uint64_t)eager};
  raw->arrived = 0;
  send_message(raw, raw->endpoint, kFetch, &stream, sizeof stream, NULL, 0, UCP_AM_SEND_FLAG_REPLY);
  while (raw->arrived < bytes || raw->sending != 0) ucp_worker_progress(raw->worker);
}

void raw_ucx_close(struct raw_ucx* raw) {
  if (raw->phase != NULL) pthread_join(raw->thread, NULL);
  if (raw->endpoint != NULL) {
    const ucp_request_param_t param = {0};
    const ucs_status_ptr_t request = ucp_ep_close_nbx(raw->endpoint, &param);
    if (UCS_PTR_IS_PTR(request)) {
      while (ucp_request_check_status(request) == UCS_INPROGRESS) ucp_worker_progress(raw->worker);
      ucp_request_free(request);
    }
  }
  ucp_worker_destroy(raw->worker);
  ucp_cleanup(raw->context);
  free(raw->buffer);
  free(raw);
}
