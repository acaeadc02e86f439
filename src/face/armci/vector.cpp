// Vector put, get, accumulate; blocking and nonblocking.
#include "face/armci/define.hpp"
#include "face/armci/elements.hpp"
#include "face/armci/errors.hpp"
#include "face/armci/handles.hpp"
#include "face/armci/pieces.hpp"

using grapnel::Rank;
using grapnel::Status;
using namespace grapnel::armci;

ARMCI_DEFINE(int, PutV, (armci_giov_t * vectors, int length, int proc)) {
  return answer("ARMCI_PutV", [&](Job& job) -> Status {
    Pieces pieces;
    GRAPNEL_TRY(pieces.read(vectors, length, Direction::to_target));
    return job.runtime->put(pieces.view(), Rank{proc});
  });
}

ARMCI_DEFINE(int, GetV, (armci_giov_t * vectors, int length, int proc)) {
  return answer("ARMCI_GetV", [&](Job& job) -> Status {
    Pieces pieces;
    GRAPNEL_TRY(pieces.read(vectors, length, Direction::from_target));
    return job.runtime->get(pieces.view(), Rank{proc});
  });
}

ARMCI_DEFINE(int, AccV, (int type, void* scale, armci_giov_t* vectors, int length, int proc)) {
  return answer("ARMCI_AccV", [&](Job& job) -> Status {
    Pieces pieces;
    GRAPNEL_TRY(pieces.read(vectors, length, Direction::to_target));
    if (!is_accumulate_type(type)) return bad_accumulate_type(type);
    return job.runtime->accumulate(element_of(type), scale, pieces.view(), Rank{proc});
  });
}

ARMCI_DEFINE(int, NbPutV, (armci_giov_t * vectors, int length, int proc, armci_hdl_t* handle)) {
  return answer("ARMCI_NbPutV", [&](Job& job) -> Status {
    Pieces pieces;
    GRAPNEL_TRY(pieces.read(vectors, length, Direction::to_target));
    HandleWords words(handle);
    return job.runtime->start_put(pieces.view(), Rank{proc}, words.core());
  });
}

ARMCI_DEFINE(int, NbGetV, (armci_giov_t * vectors, int length, int proc, armci_hdl_t* handle)) {
  return answer("ARMCI_NbGetV", [&](Job& job) -> Status {
    Pieces pieces;
    GRAPNEL_TRY(pieces.read(vectors, length, Direction::from_target));
    HandleWords words(handle);
    return job.runtime->start_get(pieces.view(), Rank{proc}, words.core());
  });
}

ARMCI_DEFINE(int, NbAccV, (int type, void* scale, armci_giov_t* vectors, int length, int proc, armci_hdl_t* handle)) {
  return answer("ARMCI_NbAccV", [&](Job& job) -> Status {
    Pieces pieces;
    GRAPNEL_TRY(pieces.read(vectors, length, Direction::to_target));
    if (!is_accumulate_type(type)) return bad_accumulate_type(type);
    HandleWords words(handle);
    return job.runtime->start_accumulate(element_of(type), scale, pieces.view(), Rank{proc}, words.core());
  });
}
