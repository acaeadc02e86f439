/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "tcp_node.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum kind { kRead, kBarrier };

struct request {
  uint32_t kind, bytes;
};

struct hello {
  uint64_t token;
  uint32_t node, unused;
};

struct tcp_node {
  uint32_t me, nodes, bytes;
  char* memory;
  uint64_t token;
  int listener, stop;
  int to[kTcpNodesMost]; /* the program's connections, by node */
  uint64_t messages;
  pthread_t server;
  int serving;
  /* The server's: its connections, in the order in which they came; and those that wait at the barrier. */
  struct pollfd polled[kTcpNodesMost + 2];
  uint32_t accepted, waiting;
};

static int send_all(int socket_fd, const void* data, size_t bytes) {
  return send(socket_fd, data, bytes, MSG_NOSIGNAL) == (ssize_t)bytes ? 0 : -1;
}

static int receive_all(int socket_fd, void* data, size_t bytes) {
  return recv(socket_fd, data, bytes, MSG_WAITALL) == (ssize_t)bytes ? 0 : -1;
}

static int without_delay(int socket_fd) {
  const int on = 1;
  return setsockopt(socket_fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

struct tcp_node* tcp_node_open(uint32_t me, uint32_t nodes, uint32_t bytes, uint16_t* port) {
  struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof here;
  if (nodes > kTcpNodesMost) {
    errno = EINVAL;
    return NULL;
  }
  struct tcp_node* node = calloc(1, sizeof *node);
  if (node == NULL) return NULL;
  *node = (struct tcp_node){.me = me, .nodes = nodes, .bytes = bytes, .memory = calloc(1, bytes)};
  for (uint32_t i = 0; i < kTcpNodesMost; ++i) node->to[i] = -1;
  node->stop = eventfd(0, EFD_CLOEXEC);
  node->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (node->memory != NULL && node->stop >= 0 && node->listener >= 0 &&
      bind(node->listener, (struct sockaddr*)&here, sizeof here) == 0 && listen(node->listener, kTcpNodesMost) == 0 &&
      getsockname(node->listener, (struct sockaddr*)&here, &length) == 0) {
    *port = ntohs(here.sin_port);
    return node;
  }
  const int why = errno;
  tcp_node_close(node);
  errno = why;
  return NULL;
}

/* ---- the server ---- */

static void accept_one(struct tcp_node* node) {
  struct hello hello;
  const int socket_fd = accept4(node->listener, NULL, NULL, SOCK_CLOEXEC);
  if (socket_fd < 0) return;
  if (node->accepted < node->nodes && receive_all(socket_fd, &hello, sizeof hello) == 0 && hello.token == node->token &&
      without_delay(socket_fd) == 0) {
    node->polled[2 + node->accepted++] = (struct pollfd){.fd = socket_fd, .events = POLLIN};
    return;
  }
  close(socket_fd);
}

static int release_all(struct tcp_node* node) {
  const uint32_t word = 0;
  node->waiting = 0;
  for (uint32_t i = 0; i < node->nodes; ++i) {
    if (send_all(node->polled[2 + i].fd, &word, sizeof word) != 0) return -1;
  }
  return 0;
}

/* -1: the connection has ended, or asks for what there is not. */
static int serve_one(struct tcp_node* node, int socket_fd) {
  struct request request;
  if (receive_all(socket_fd, &request, sizeof request) != 0) return -1;
  if (request.kind == kBarrier) return ++node->waiting == node->nodes ? release_all(node) : 0;
  if (request.kind != kRead || request.bytes > node->bytes) return -1;
  return send_all(socket_fd, node->memory, request.bytes);
}

static void* serve(void* argument) {
  struct tcp_node* node = argument;
  node->polled[0] = (struct pollfd){.fd = node->stop, .events = POLLIN};
  node->polled[1] = (struct pollfd){.fd = node->listener, .events = POLLIN};
  for (;;) {
    const uint32_t count = 2 + node->accepted;
    if (poll(node->polled, count, -1) < 0 && errno != EINTR) return NULL;
    if (node->polled[0].revents != 0) return NULL;
    if (node->polled[1].revents != 0) accept_one(node);
    for (uint32_t i = 2; i < count; ++i) {
      if (node->polled[i].revents == 0 || serve_one(node, node->polled[i].fd) == 0) continue;
      close(node->polled[i].fd);
      node->polled[i].fd = -1; /* poll looks past it */
    }
  }
}

/* ---- the program ---- */

static int connect_to(struct tcp_node* node, uint32_t other, uint16_t port) {
  const struct sockaddr_in there = {
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  const struct hello hello = {.token = node->token, .node = node->me};
  const int socket_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket_fd < 0) return -1;
  node->to[other] = socket_fd;
  if (connect(socket_fd, (const struct sockaddr*)&there, sizeof there) != 0) return -1;
  return without_delay(socket_fd) == 0 ? send_all(socket_fd, &hello, sizeof hello) : -1;
}

int tcp_node_connect(struct tcp_node* node, const uint16_t* ports, uint64_t token) {
  node->token = token;
  if ((errno = pthread_create(&node->server, NULL, serve, node)) != 0) return -1;
  node->serving = 1;
  for (uint32_t other = 0; other < node->nodes; ++other) {
    if (connect_to(node, other, ports[other]) != 0) return -1;
  }
  return 0;
}

static void close_if_open(int socket_fd) {
  if (socket_fd >= 0) close(socket_fd);
}

void tcp_node_close(struct tcp_node* node) {
  const uint64_t one = 1;
  if (node->serving && write(node->stop, &one, sizeof one) == sizeof one) pthread_join(node->server, NULL);
  for (uint32_t i = 0; i < node->accepted; ++i) close_if_open(node->polled[2 + i].fd);
  for (uint32_t i = 0; i < kTcpNodesMost; ++i) close_if_open(node->to[i]);
  close_if_open(node->listener);
  close_if_open(node->stop);
  free(node->memory);
  free(node);
}

void* tcp_node_memory(struct tcp_node* node) { return node->memory; }

static int ask(struct tcp_node* node, uint32_t other, enum kind kind, uint32_t bytes) {
  const struct request request = {.kind = kind, .bytes = bytes};
  if (other != node->me) node->messages += 2; /* with the answer */
  return send_all(node->to[other], &request, sizeof request);
}

int tcp_node_read(struct tcp_node* node, uint32_t from, void* to, uint32_t bytes) {
  return ask(node, from, kRead, bytes) == 0 ? receive_all(node->to[from], to, bytes) : -1;
}

int tcp_node_read_all(struct tcp_node* node, void* to, uint32_t bytes) {
  for (uint32_t other = 0; other < node->nodes; ++other) {
    if (other != node->me && ask(node, other, kRead, bytes) != 0) return -1;
  }
  for (uint32_t other = 0; other < node->nodes; ++other) {
    if (other != node->me && receive_all(node->to[other], (char*)to + (size_t)other * bytes, bytes) != 0) return -1;
  }
  return 0;
}

int tcp_node_barrier(struct tcp_node* node) {
  uint32_t word = 0;
  return ask(node, 0, kBarrier, 0) == 0 ? receive_all(node->to[0], &word, sizeof word) : -1;
}

uint64_t tcp_node_messages(const struct tcp_node* node) { return node->messages; }
