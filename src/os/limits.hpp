// Which limit of the process was met: for the message of a call that failed.
//
// Libraries answer "Input/output error" where a descriptor or a thread was refused; the remedy is another one for each.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "grapnel/status.hpp"

namespace grapnel::os {

/// What an errno means, with the limit, its value and the remedy where the errno is that of a limit ("Too many open
/// files: this process may open 20; raise the limit (ulimit -n)").
std::string error_words(int error);

/// The limits that are met, or nearly, now: descriptors, threads, the stack of a new thread, the address space, and
/// pinned memory where there is some. One sentence with the remedy each; empty where there is room. Opens a folder,
/// maps memory and starts a thread: only after a failure. Any thread.
std::string limits_met();

/// The limit of memory that adapters may pin, where it may be too low for `bytes` more at some address: one sentence
/// with the remedy, else empty. Any thread.
std::string pinning_limit_met(std::size_t bytes);

/// Whether no limit of memory that adapters may pin is set, and how much of this process is pinned. Any thread.
bool pinning_is_unlimited();
std::size_t pinned_bytes();

/// unavailable, naming the limit, where this process cannot open so many more descriptors, or no thread of the default
/// stack: for libraries that abort without them.
Status check_room(std::size_t descriptors);

/// `message`, and after it what `limits_met` finds.
std::string with_limits_met(std::string message);

}  // namespace grapnel::os
