/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "ping_pong.h"

#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { kNameBytes = 256, kPatience_s = 5 };

static int find_host(uint32_t* host) {
  char name[kNameBytes];
  struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM};
  struct addrinfo* found = NULL;
  if (gethostname(name, sizeof name) != 0 || getaddrinfo(name, NULL, &hints, &found) != 0) return -1;
  *host = ((const struct sockaddr_in*)(const void*)found->ai_addr)->sin_addr.s_addr;
  freeaddrinfo(found);
  return 0;
}

int limit_ping_open(struct limit_address* mine) {
  struct sockaddr_in any = {.sin_family = AF_INET};
  socklen_t bytes = sizeof any;
  const struct timeval patience = {.tv_sec = kPatience_s};
  const int socket_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket_fd < 0) return -1;
  if (bind(socket_fd, (struct sockaddr*)&any, sizeof any) == 0 &&
      getsockname(socket_fd, (struct sockaddr*)&any, &bytes) == 0 &&
      setsockopt(socket_fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 && find_host(&mine->host) == 0) {
    mine->port = any.sin_port;
    return socket_fd;
  }
  close(socket_fd);
  return -1;
}

void limit_ping_close(int socket_fd) { close(socket_fd); }

int limit_ping(int socket_fd, const struct limit_address* peer, uint64_t rounds) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = peer->port, .sin_addr = {peer->host}};
  for (uint64_t round = 0; round < rounds; ++round) {
    uint64_t word = round;
    if (sendto(socket_fd, &word, sizeof word, 0, (struct sockaddr*)&to, sizeof to) != sizeof word) return -1;
    if (recv(socket_fd, &word, sizeof word, 0) != sizeof word) return -1;
  }
  return 0;
}

int limit_pong(int socket_fd, uint64_t rounds) {
  for (uint64_t round = 0; round < rounds; ++round) {
    struct sockaddr_in from;
    socklen_t bytes = sizeof from;
    uint64_t word = 0;
    if (recvfrom(socket_fd, &word, sizeof word, 0, (struct sockaddr*)&from, &bytes) != sizeof word) return -1;
    if (sendto(socket_fd, &word, sizeof word, 0, (struct sockaddr*)&from, bytes) != sizeof word) return -1;
  }
  return 0;
}
