// What the shared library shows: everything else is hidden.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#define GRAPNEL_API __attribute__((visibility("default")))
