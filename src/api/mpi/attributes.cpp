// What a carrier does not have: the window's predefined attributes, group and hints.
// SPDX-License-Identifier: Apache-2.0
#include "api/mpi/calls.hpp"
#include "api/mpi/errors.hpp"
#include "api/mpi/hints.hpp"
#include "api/mpi/job.hpp"
#include "api/mpi/predefined_attributes.hpp"

namespace grapnel::front {

void* predefined_attribute(Taken& taken, int keyval) {
  if (keyval == MPI_WIN_BASE) return taken.base;
  if (keyval == MPI_WIN_SIZE) return &taken.bytes;
  if (keyval == MPI_WIN_DISP_UNIT) return &taken.unit;
  if (keyval == MPI_WIN_CREATE_FLAVOR) return &taken.flavor;
  return &taken.model;
}

bool is_predefined_attribute(int keyval) {
  return keyval == MPI_WIN_BASE || keyval == MPI_WIN_SIZE || keyval == MPI_WIN_DISP_UNIT ||
         keyval == MPI_WIN_CREATE_FLAVOR || keyval == MPI_WIN_MODEL;
}

int Win_get_attr(const Calls& next, MPI_Win win, int keyval, void* value, int* flag) {
  Taken* const taken = is_predefined_attribute(keyval) ? find(win) : nullptr;
  if (taken == nullptr) return next.Win_get_attr(win, keyval, value, flag);
  *static_cast<void**>(value) = predefined_attribute(*taken, keyval);
  *flag = 1;
  return MPI_SUCCESS;
}

int Win_get_group(const Calls& next, MPI_Win win, MPI_Group* group) {
  const Taken* const taken = find(win);
  if (taken == nullptr) return next.Win_get_group(win, group);
  if (group == nullptr) return raise(*taken, "MPI_Win_get_group", MPI_ERR_ARG, "group is NULL");
  return PMPI_Group_excl(taken->group, 0, nullptr, group);
}

int Win_set_info(const Calls& next, MPI_Win win, MPI_Info info) {
  Taken* const taken = find(win);
  if (taken == nullptr) return next.Win_set_info(win, info);
  if (info == MPI_INFO_NULL) return raise(*taken, "MPI_Win_set_info", MPI_ERR_INFO, "info is MPI_INFO_NULL");
  // What the window was made with stays: locks, and how its memory lies.
  Hints asked;
  add_hints(asked, info);
  for (const char* const key :
       {"no_locks", "alloc_shared_noncontig", "same_disp_unit", "grapnel", "grapnel_lock", "grapnel_lock_domain"}) {
    asked.erase(key);
  }
  for (const auto& [key, value] : asked) taken->info[key] = value;
  return MPI_SUCCESS;
}

int Win_get_info(const Calls& next, MPI_Win win, MPI_Info* info) {
  const Taken* const taken = find(win);
  if (taken == nullptr) return next.Win_get_info(win, info);
  if (info == nullptr) return raise(*taken, "MPI_Win_get_info", MPI_ERR_ARG, "info is NULL");
  if (const int code = PMPI_Info_create(info); code != MPI_SUCCESS) return code;
  for (const auto& [key, value] : taken->info) PMPI_Info_set(*info, key.c_str(), value.c_str());
  return MPI_SUCCESS;
}

}  // namespace grapnel::front
