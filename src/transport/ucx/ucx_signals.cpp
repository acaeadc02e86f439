// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/ucx_signals.hpp"

#include <dlfcn.h>
#include <ucs/debug/debug.h>

#include <csignal>
#include <cstdlib>
#include <initializer_list>

namespace grapnel::transport::ucx {
namespace {

const void* library_of(const void* address) {
  Dl_info about{};
  return ::dladdr(address, &about) != 0 ? about.dli_fbase : nullptr;
}

// UCX warns on stderr when it shall give back a signal that it does not have.
bool is_with_ucx(int signal) {
  struct sigaction now {};
  if (::sigaction(signal, nullptr, &now) != 0 || now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN) return false;
  // sa_handler and sa_sigaction are one word.
  const void* const handler = reinterpret_cast<const void*>(now.sa_handler);
  const void* const ucs = library_of(reinterpret_cast<const void*>(&ucs_debug_disable_signal));
  return ucs != nullptr && library_of(handler) == ucs;
}

bool user_sets(const char* variable) { return std::getenv(variable) != nullptr; }

void give_back(int signal) {
  if (is_with_ucx(signal)) ucs_debug_disable_signal(signal);
}

}  // namespace

void give_back_signals() {
  if (!user_sets("UCX_DEBUG_SIGNO")) give_back(SIGHUP);
  if (user_sets("UCX_HANDLE_ERRORS") || user_sets("UCX_ERROR_SIGNALS")) return;
  for (const int signal : {SIGILL, SIGBUS, SIGFPE, SIGSEGV}) give_back(signal);
}

}  // namespace grapnel::transport::ucx
