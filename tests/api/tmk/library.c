/* The object of library.h, which each process has at an address of its own.
 * SPDX-License-Identifier: Apache-2.0 */
#include "library.h"

static int object[8];
int* const library_object = object;
int library_word(void) { return object[3]; }
