// The command line is parsed by every process, which reaches the same answer without a message.
// SPDX-License-Identifier: Apache-2.0
#include "common/program.hpp"

#include <Tmk.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>

#include "common/shared.hpp"

namespace app {

namespace {

/// The errno of the first line that could not be written.
int lost_output = 0;

/// 1 instead of `code` where output was lost.
int exit_code(const std::string& name, int code) {
  if (lost_output == 0) return code;
  std::fprintf(stderr, "%s: standard output cannot be written: %s\n", name.c_str(), std::strerror(lost_output));
  return 1;
}

/// `--help` or a bad argument. The barrier: the job ends only after process 0 has printed.
[[noreturn]] void leave_early(const Program& program, const CLI::App& options, const CLI::ParseError& error) {
  const bool asked_for_help = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success);
  if (asked_for_help) {
    print(options.help());
  } else if (Tmk_proc_id == 0) {
    std::fprintf(stderr, "%s: %s\n%s: try `%s --help`\n", program.name.c_str(), error.what(), program.name.c_str(),
                 program.name.c_str());
  }
  Tmk_barrier(kEarlyExit);
  Tmk_exit(asked_for_help ? exit_code(program.name, 0) : 2);
}

Verdict work(const Program& program) {
  try {
    return program.work();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: process %u: %s\n", program.name.c_str(), Tmk_proc_id, error.what());
    print(fmt::format("{}: FAIL {}\n", program.name, error.what()));
    Tmk_exit(1);
  }
}

const char* word(Verdict::Kind kind) {
  switch (kind) {
    case Verdict::Kind::pass: return "PASS";
    case Verdict::Kind::done: return "DONE";
    case Verdict::Kind::fail: break;
  }
  return "FAIL";
}

}  // namespace

void print(const std::string& text) {
  if (Tmk_proc_id != 0) return;
  errno = 0;
  const bool written = std::fputs(text.c_str(), stdout) >= 0;
  if (std::fflush(stdout) == 0 && written) return;
  if (lost_output == 0) lost_output = errno != 0 ? errno : EIO;
}

void run(const Program& program, int argc, char** argv) {
  Tmk_startup(argc, argv);
  CLI::App options{program.purpose, program.name};
  program.add_options(options);
  try {
    options.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    leave_early(program, options, error);
  }
  const Verdict verdict = work(program);
  if (Tmk_proc_id != 0) Tmk_exit(0);
  print(fmt::format("{}: {} {}\n", program.name, word(verdict.kind), verdict.text));
  Tmk_exit(exit_code(program.name, verdict.kind == Verdict::Kind::fail ? 1 : 0));
}

}  // namespace app
