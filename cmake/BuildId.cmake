# cmake -DOUTPUT=FILE -DROOT=FOLDER -DVERSION=V -DFILES=a;b;… -P BuildId.cmake: writes the C++ file that names a build.
#
# The name is a sum over what the ranks of a job must have alike: the sources that lay out messages and shared memory. It
# depends on no time, path, compiler or version control, so that builds can be repeated and cached, and two builds of the
# same sources go together. The file is touched only when the name is another one.
# SPDX-License-Identifier: Apache-2.0
set(sums "${VERSION}")
list(SORT FILES)
foreach(file IN LISTS FILES)
  file(SHA256 ${ROOT}/${file} sum)
  string(APPEND sums "\n${file} ${sum}")
endforeach()
string(SHA256 id "${sums}")
string(SUBSTRING ${id} 0 12 id)
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT [[
// Written by cmake/BuildId.cmake.
#include "base/build.hpp"

namespace grapnel::base {

const char* build_version() { return "@VERSION@"; }
const char* build_id() { return "@id@"; }

}  // namespace grapnel::base
]] @ONLY)
