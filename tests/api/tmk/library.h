/* A library with an object that a program distributes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef GRAPNEL_TESTS_TMK_LIBRARY_H
#define GRAPNEL_TESTS_TMK_LIBRARY_H

extern int* const library_object;
int library_word(void);

#endif
