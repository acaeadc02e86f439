/* SPDX-License-Identifier: Apache-2.0 */
#include "library.h"

static int object[8];
int* const library_object = object;
int library_word(void) { return object[3]; }
