# The outside libraries; docs/decisions/libraries.md says why each.
# SPDX-License-Identifier: Apache-2.0
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(GTest REQUIRED)
find_package(LAPACK)
pkg_check_modules(FFTW IMPORTED_TARGET fftw3)
pkg_check_modules(UCX REQUIRED IMPORTED_TARGET ucx)
pkg_check_modules(PMIX REQUIRED IMPORTED_TARGET pmix)
