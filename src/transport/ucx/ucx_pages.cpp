// SPDX-License-Identifier: Apache-2.0
#include <ucm/api/ucm.h>

#include "transport/pages.hpp"

namespace grapnel::transport {

void forget_pages(ByteSpan memory) { ucm_vm_munmap(memory.data(), memory.size()); }

}  // namespace grapnel::transport
