// The exported names, and the next function of each.
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#include "api/mpi/calls.hpp"
#include "api/mpi/near.hpp"
#include "grapnel/export.hpp"

namespace grapnel::front {
namespace {

#ifdef OPEN_MPI
constexpr const char* kOurMpi = "Open MPI";
#else
constexpr const char* kOurMpi = "MPICH";
#endif

// Room for any MPI's text: MPI_MAX_LIBRARY_VERSION_STRING is 256 in Open MPI, and 8192 in MPICH.
constexpr int kLongestVersion = 1 << 14;

template <typename Function>
void look_up(Function*& found, const char* name) {
  found = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

/// By the text of its version: MPI allows this call at any time.
bool is_other_mpi() {
  char text[kLongestVersion] = {};
  int length = 0;
  if (PMPI_Get_library_version(text, &length) != MPI_SUCCESS || std::strstr(text, kOurMpi) != nullptr) return false;
  text[std::strcspn(text, "\n")] = 0;
  std::fprintf(
      stderr,
      "grapnel: this libgrapnel-mpi is for %s, and the program's MPI is %.60s: all windows stay its own; install "
      "Grapnel for that MPI\n",
      kOurMpi, text);
  return true;
}

NextCalls looked_up() {
  NextCalls next;
#define GRAPNEL_LOOK_UP(name, parameters, ...) \
  look_up(next.mpi.name, "MPI_" #name);        \
  look_up(next.pmpi.name, "PMPI_" #name);
  GRAPNEL_MPI_ALL_CALLS(GRAPNEL_LOOK_UP)
#undef GRAPNEL_LOOK_UP
  next.is_other_mpi = is_other_mpi();
  return next;
}

/// Of a program of the other MPI, once that is known.
constinit const NextCalls* other_mpi = nullptr;

}  // namespace

const NextCalls& next_calls() {
  static const NextCalls next = looked_up();
  if (next.is_other_mpi) [[unlikely]]
    other_mpi = &next;
  return next;
}

}  // namespace grapnel::front

// A program of the other MPI has handles of another width: its arguments must pass unchanged, in whole registers. So an
// exported function is a jump and no more; MPI_Init, the first call, has addresses only.
#define GRAPNEL_DEFINE_AS(mpi_name, name, kind, parameters, ...)                            \
  [[gnu::noinline]] static int take_##mpi_name parameters {                                 \
    if (grapnel::front::near::name(__VA_ARGS__)) return MPI_SUCCESS;                        \
    const grapnel::front::NextCalls& next = grapnel::front::next_calls();                   \
    if (next.is_other_mpi) [[unlikely]]                                                     \
      return next.kind.name(__VA_ARGS__);                                                   \
    return grapnel::front::name(next.kind, __VA_ARGS__);                                    \
  }                                                                                         \
  extern "C" GRAPNEL_API int mpi_name parameters {                                          \
    const grapnel::front::NextCalls* const other = grapnel::front::other_mpi;               \
    return other != nullptr ? other->kind.name(__VA_ARGS__) : take_##mpi_name(__VA_ARGS__); \
  }
#define GRAPNEL_DEFINE(name, parameters, ...)                       \
  GRAPNEL_DEFINE_AS(MPI_##name, name, mpi, parameters, __VA_ARGS__) \
  GRAPNEL_DEFINE_AS(PMPI_##name, name, pmpi, parameters, __VA_ARGS__)
GRAPNEL_MPI_ALL_CALLS(GRAPNEL_DEFINE)
