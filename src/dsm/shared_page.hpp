// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Of functions that load from or store to pages which programs write at the same time: the thread sanitizer is right
/// about that, and loads and stores of one place each are all that is needed.
#define GRAPNEL_SHARED_PAGE __attribute__((no_sanitize("thread")))
