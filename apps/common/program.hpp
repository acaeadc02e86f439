// A program on TreadMarks' interface from its first line to its exit code.
//
// Last line and exit code: `NAME: PASS …` and 0 where the result was verified and is right, `NAME: DONE …` and 0 where
// it was not to be verified, `NAME: FAIL …` and 1 otherwise; 1 also where a line cannot be written. Process 0 prints
// them. A bad argument is answered on stderr with 2 before anything is done.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace app {

struct Verdict {
  enum class Kind { pass, done, fail };
  Kind kind = Kind::done;
  std::string text;
};

inline Verdict pass(std::string text) { return {Verdict::Kind::pass, std::move(text)}; }
inline Verdict fail(std::string text) { return {Verdict::Kind::fail, std::move(text)}; }
inline Verdict not_verified() { return {Verdict::Kind::done, "not verified"}; }
/// Where Tmk_malloc returned null.
inline Verdict no_room() { return fail("no room in the shared heap; GRAPNEL_DSM_HEAP_BYTES sets its size"); }

struct Program {
  std::string name;
  std::string purpose;  ///< for `--help`
  std::function<void(CLI::App&)> add_options;
  /// Collective, between Tmk_startup and Tmk_exit. Process 0's verdict counts. A process that throws ends the job.
  std::function<Verdict()> work;
};

/// Starts, parses, works and exits.
[[noreturn]] void run(const Program& program, int argc, char** argv);

/// Prints on process 0's stdout; other processes print nothing.
void print(const std::string& text);

}  // namespace app
