// The self-test's operations on single words: atomics, updates, notifications, signals, locks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "selftest/scene.hpp"

namespace grapnel::tool::selftest {

Status all_rmw(Scene& scene);
void expect_rmw(Rank origin, Rank owner, std::byte* slot);
Status fetch_and_add(Scene& scene);

Status update_maximum(Scene& scene);
void expect_maximum(Rank origin, Rank owner, std::byte* slot);
Status fetch_and_update(Scene& scene);

/// The target waits for the notification, and looks at once.
Status put_and_notify(Scene& scene);
void expect_notified(Rank origin, Rank owner, std::byte* slot);
/// There and back.
Status notify_and_wait(Scene& scene);

Status put_and_signal(Scene& scene);
void expect_signal(Rank origin, Rank owner, std::byte* slot);
Status put_with_signal(Scene& scene);

/// Origin and target add to a number that only the lock protects.
Status add_under_lock(Scene& scene);
void expect_locked(Rank origin, Rank owner, std::byte* slot);
Status lock_and_unlock(Scene& scene);

}  // namespace grapnel::tool::selftest
