// Takes the place of the generated file: what is linked with this is another build of Grapnel.
// SPDX-License-Identifier: Apache-2.0
#include "base/build.hpp"

namespace grapnel::base {

const char* build_version() { return "9.9.9"; }
const char* build_id() { return "0123456789ab"; }

}  // namespace grapnel::base
