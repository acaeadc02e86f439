// Vector put, get, accumulate; blocking and nonblocking; for both orders of a descriptor's members.
// SPDX-License-Identifier: Apache-2.0
#include "api/armci/define.hpp"
#include "api/armci/elements.hpp"
#include "api/armci/errors.hpp"
#include "api/armci/handles.hpp"
#include "api/armci/pieces.hpp"

using grapnel::Rank;
using grapnel::Status;
using namespace grapnel::armci;

namespace {

/// `handle`: where the call is nonblocking, a pointer to the caller's argument, which may be NULL; else null.
/// `call`: as the program wrote it, in either order of members.
struct Request {
  const char* call;
  int length;
  int proc;
  armci_hdl_t* const* handle = nullptr;
};

template <typename Vector>
int put(const Request& request, const Vector* vectors) {
  return answer(request.call, [&](Job& job) -> Status {
    Pieces pieces;
    GRAPNEL_TRY(pieces.read(vectors, request.length, Direction::to_target));
    if (request.handle == nullptr) return job.runtime->put(pieces.view(), Rank{request.proc});
    HandleWords words(*request.handle);
    return job.runtime->start_put(pieces.view(), Rank{request.proc}, words.core());
  });
}

template <typename Vector>
int get(const Request& request, const Vector* vectors) {
  return answer(request.call, [&](Job& job) -> Status {
    Pieces pieces;
    GRAPNEL_TRY(pieces.read(vectors, request.length, Direction::from_target));
    if (request.handle == nullptr) return job.runtime->get(pieces.view(), Rank{request.proc});
    HandleWords words(*request.handle);
    return job.runtime->start_get(pieces.view(), Rank{request.proc}, words.core());
  });
}

template <typename Vector>
int accumulate(const Request& request, int type, const void* scale, const Vector* vectors) {
  return answer(request.call, [&](Job& job) -> Status {
    Pieces pieces;
    GRAPNEL_TRY(pieces.read(vectors, request.length, Direction::to_target));
    if (!is_accumulate_type(type)) return bad_accumulate_type(type);
    const auto element = element_of(type);
    if (request.handle == nullptr) return job.runtime->accumulate(element, scale, pieces.view(), Rank{request.proc});
    HandleWords words(*request.handle);
    return job.runtime->start_accumulate(element, scale, pieces.view(), Rank{request.proc}, words.core());
  });
}

}  // namespace

ARMCI_DEFINE(int, PutV, (armci_giov_t * vectors, int length, int proc)) {
  return put({"ARMCI_PutV", length, proc}, vectors);
}

ARMCI_DEFINE(int, GetV, (armci_giov_t * vectors, int length, int proc)) {
  return get({"ARMCI_GetV", length, proc}, vectors);
}

ARMCI_DEFINE(int, AccV, (int type, void* scale, armci_giov_t* vectors, int length, int proc)) {
  return accumulate({"ARMCI_AccV", length, proc}, type, scale, vectors);
}

ARMCI_DEFINE(int, NbPutV, (armci_giov_t * vectors, int length, int proc, armci_hdl_t* handle)) {
  return put({"ARMCI_NbPutV", length, proc, &handle}, vectors);
}

ARMCI_DEFINE(int, NbGetV, (armci_giov_t * vectors, int length, int proc, armci_hdl_t* handle)) {
  return get({"ARMCI_NbGetV", length, proc, &handle}, vectors);
}

ARMCI_DEFINE(int, NbAccV, (int type, void* scale, armci_giov_t* vectors, int length, int proc, armci_hdl_t* handle)) {
  return accumulate({"ARMCI_NbAccV", length, proc, &handle}, type, scale, vectors);
}

ARMCI_DEFINE(int, PutV_bytes_first, (armci_giov_bytes_first_t * vectors, int length, int proc)) {
  return put({"ARMCI_PutV", length, proc}, vectors);
}

ARMCI_DEFINE(int, GetV_bytes_first, (armci_giov_bytes_first_t * vectors, int length, int proc)) {
  return get({"ARMCI_GetV", length, proc}, vectors);
}

ARMCI_DEFINE(int, AccV_bytes_first, (int type, void* scale, armci_giov_bytes_first_t* vectors, int length, int proc)) {
  return accumulate({"ARMCI_AccV", length, proc}, type, scale, vectors);
}

ARMCI_DEFINE(int, NbPutV_bytes_first, (armci_giov_bytes_first_t * vectors, int length, int proc, armci_hdl_t* handle)) {
  return put({"ARMCI_NbPutV", length, proc, &handle}, vectors);
}

ARMCI_DEFINE(int, NbGetV_bytes_first, (armci_giov_bytes_first_t * vectors, int length, int proc, armci_hdl_t* handle)) {
  return get({"ARMCI_NbGetV", length, proc, &handle}, vectors);
}

ARMCI_DEFINE(int, NbAccV_bytes_first,
             (int type, void* scale, armci_giov_bytes_first_t* vectors, int length, int proc, armci_hdl_t* handle)) {
  return accumulate({"ARMCI_NbAccV", length, proc, &handle}, type, scale, vectors);
}
