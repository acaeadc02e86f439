// Strided put, get, accumulate, put with a flag; blocking and nonblocking. One body per direction.
#include "face/armci/define.hpp"
#include "face/armci/elements.hpp"
#include "face/armci/errors.hpp"
#include "face/armci/handles.hpp"
#include "face/armci/shapes.hpp"

using grapnel::Rank;
using grapnel::Status;
using namespace grapnel::armci;

ARMCI_DEFINE(int, PutS, (void* src, int* src_stride, void* dst, int* dst_stride, int* counts, int levels, int proc)) {
  return answer("ARMCI_PutS", [&](Job& job) -> Status {
    const StridedArguments shapes{src_stride, dst_stride, counts, levels};
    GRAPNEL_TRY(shapes.check());
    return job.runtime->put(src, *shapes.source(), dst, *shapes.destination(), Rank{proc});
  });
}

ARMCI_DEFINE(int, GetS, (void* src, int* src_stride, void* dst, int* dst_stride, int* counts, int levels, int proc)) {
  return answer("ARMCI_GetS", [&](Job& job) -> Status {
    const StridedArguments shapes{src_stride, dst_stride, counts, levels};
    GRAPNEL_TRY(shapes.check());
    return job.runtime->get(src, *shapes.source(), dst, *shapes.destination(), Rank{proc});
  });
}

ARMCI_DEFINE(int, AccS,
             (int type, void* scale, void* src, int* src_stride, void* dst, int* dst_stride, int* counts, int levels,
              int proc)) {
  return answer("ARMCI_AccS", [&](Job& job) -> Status {
    const StridedArguments shapes{src_stride, dst_stride, counts, levels};
    GRAPNEL_TRY(shapes.check());
    if (!is_accumulate_type(type)) return bad_accumulate_type(type);
    return job.runtime->accumulate(element_of(type), scale, src, *shapes.source(), dst, *shapes.destination(),
                                   Rank{proc});
  });
}

ARMCI_DEFINE(int, NbPutS,
             (void* src, int* src_stride, void* dst, int* dst_stride, int* counts, int levels, int proc,
              armci_hdl_t* handle)) {
  return answer("ARMCI_NbPutS", [&](Job& job) -> Status {
    const StridedArguments shapes{src_stride, dst_stride, counts, levels};
    GRAPNEL_TRY(shapes.check());
    HandleWords words(handle);
    return job.runtime->start_put(src, *shapes.source(), dst, *shapes.destination(), Rank{proc}, words.core());
  });
}

ARMCI_DEFINE(int, NbGetS,
             (void* src, int* src_stride, void* dst, int* dst_stride, int* counts, int levels, int proc,
              armci_hdl_t* handle)) {
  return answer("ARMCI_NbGetS", [&](Job& job) -> Status {
    const StridedArguments shapes{src_stride, dst_stride, counts, levels};
    GRAPNEL_TRY(shapes.check());
    HandleWords words(handle);
    return job.runtime->start_get(src, *shapes.source(), dst, *shapes.destination(), Rank{proc}, words.core());
  });
}

ARMCI_DEFINE(int, NbAccS,
             (int type, void* scale, void* src, int* src_stride, void* dst, int* dst_stride, int* counts, int levels,
              int proc, armci_hdl_t* handle)) {
  return answer("ARMCI_NbAccS", [&](Job& job) -> Status {
    const StridedArguments shapes{src_stride, dst_stride, counts, levels};
    GRAPNEL_TRY(shapes.check());
    if (!is_accumulate_type(type)) return bad_accumulate_type(type);
    HandleWords words(handle);
    return job.runtime->start_accumulate(element_of(type), scale, src, *shapes.source(), dst, *shapes.destination(),
                                         Rank{proc}, words.core());
  });
}

namespace grapnel::armci {
namespace {

int put_and_flag(const char* call, void* source, void* destination, const StridedArguments& shapes, int* flag,
                 int value, int proc) {
  return answer(call, [&](Job& job) -> Status {
    GRAPNEL_TRY(shapes.check());
    return job.runtime->put_and_signal(source, *shapes.source(), destination, *shapes.destination(), flag, value,
                                       Rank{proc});
  });
}

}  // namespace
}  // namespace grapnel::armci

ARMCI_DEFINE(int, PutS_flag,
             (void* src, int* src_stride, void* dst, int* dst_stride, int* counts, int levels, int* flag, int value,
              int proc)) {
  return put_and_flag("ARMCI_PutS_flag", src, dst, {src_stride, dst_stride, counts, levels}, flag, value, proc);
}

ARMCI_DEFINE(int, PutS_flag_dir,
             (void* src, int* src_stride, void* dst, int* dst_stride, int* counts, int levels, int* flag, int value,
              int proc)) {
  return put_and_flag("ARMCI_PutS_flag_dir", src, dst, {src_stride, dst_stride, counts, levels}, flag, value, proc);
}
