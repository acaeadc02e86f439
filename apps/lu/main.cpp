// lu: the LU factorization of SPLASH-2 over Grapnel's one-sided operations.
//
//   grapnel run -n 4 --nodes 2 -- lu --n 1024 --block 32 --dist node --verify
//
// Last line and exit code: `lu: PASS residual=…` and 0 only when the factors were checked and are right, and that could
// be written; `lu: FAIL …` and 1 otherwise; a bad argument is answered on stderr with 2 before anything is done.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>

#include "announce.hpp"
#include "block_matrix.hpp"
#include "distribution.hpp"
#include "factor.hpp"
#include "input.hpp"
#include "options.hpp"
#include "report.hpp"
#include "verify.hpp"

namespace lu {

namespace {

using grapnel::Rank;
using grapnel::Result;
using grapnel::Runtime;
using grapnel::Status;

/// What all ranks know at the end.
struct Outcome {
  bool good = false;
  double residual = 0;
  std::string why;
};

Outcome failure(std::string why) { return {false, 0, std::move(why)}; }

/// A result that nobody can read is none: `lost_output` becomes the errno of the first line that could not be written.
int lost_output = 0;

void say(const std::string& text) {
  errno = 0;
  const bool written = std::fputs(text.c_str(), stdout) >= 0;
  if (std::fflush(stdout) == 0 && written) return;
  if (lost_output == 0) lost_output = errno != 0 ? errno : EIO;
}

/// Says once why what was printed is not there.
int exit_code(bool good) {
  if (lost_output == 0) return good ? 0 : 1;
  std::fprintf(stderr, "lu: standard output cannot be written: %s\n", std::strerror(lost_output));
  return 1;
}

/// What rank 0 finds in the file, and the matrix itself in `matrix` there. `number` is its size.
Announcement inspect_file(const Options& options, SparseMatrix& matrix) {
  ReadResult read = read_matrix_market_file(options.matrix_file);
  if (const auto* bad = std::get_if<ReadFailure>(&read)) return {false, 0, 0, bad->message};
  matrix = std::move(std::get<SparseMatrix>(read));
  if (options.n != 0 && options.n != matrix.n) {
    return {false, 0, 0, fmt::format("{} has {} rows and --n says {}", options.matrix_file, matrix.n, options.n)};
  }
  if (const auto why = needs_pivoting(matrix)) return {false, 0, 0, fmt::format("{}: {}", options.matrix_file, *why)};
  return {true, matrix.n, 0, {}};
}

/// Collective. A file is read and judged by rank 0; an answer that is not `good` is everybody's.
Result<Announcement> find_input(Runtime& runtime, const Options& options, Input& input) {
  if (options.matrix_file.empty()) {
    input = Input::generated(options.n, options.seed);
    return Announcement{};
  }
  SparseMatrix matrix;
  Announcement found;
  if (runtime.rank() == Rank{0}) found = inspect_file(options, matrix);
  auto known = announce(runtime, found);
  if (known && known->good) {
    matrix.n = known->number;
    input = Input::from_file(std::move(matrix));
  }
  return known;
}

Distribution distribution_of(const Runtime& runtime, const Options& options, std::int64_t n) {
  std::vector<int> nodes;
  for (int rank = 0; rank < runtime.size(); ++rank) nodes.push_back(static_cast<int>(runtime.node_of(Rank{rank})));
  return Distribution(options.layout, (n + options.block - 1) / options.block, nodes);
}

std::string headline(const BlockMatrix& matrix, const Options& options, double seconds) {
  const std::string source =
      options.matrix_file.empty() ? fmt::format("generated, seed {}", options.seed) : options.matrix_file;
  const double giga_flops = factor_operations(matrix.n()) / seconds / 1e9;
  return fmt::format(
      "matrix         {}; n = {}, {} x {} blocks of {}\n"
      "ranks          {}, nodes {}, distribution {}\n"
      "factorization  {:.4f} s, {:.3f} GFLOP/s\n",
      source, matrix.n(), matrix.blocks(), matrix.blocks(), matrix.block(), matrix.runtime().size(),
      matrix.runtime().node_count(), to_string(options.layout), seconds, giga_flops);
}

/// Collective: the factors are in place afterwards. `mine` gets what this rank did for them.
Result<double> timed_factorization(BlockMatrix& matrix, Activity& mine) {
  Runtime& runtime = matrix.runtime();
  BlockReader reader(matrix);
  const Counts before = runtime.operation_counts();
  GRAPNEL_TRY(runtime.barrier());
  const auto begin = std::chrono::steady_clock::now();
  GRAPNEL_TRY(factor(matrix, reader));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  mine.factorization = difference(runtime.operation_counts(), before);
  mine.reads = reader.counts();
  return seconds.count();
}

/// Collective: what rank 0 concluded from the checks. Where there are two both must hold, and the second's residual is
/// reported.
Result<Outcome> check(BlockMatrix& matrix, const Input& input, const Options& options) {
  auto verdict = check_product(matrix, input);
  if (!verdict) return verdict.status();
  const bool speaks = matrix.runtime().rank() == Rank{0};
  if (speaks) say(fmt::format("{}\n", fmt::join(verdict->lines, "\n")));
  if (options.verify) {
    auto whole = check_against_lapack(matrix, input);
    if (!whole) return whole.status();
    if (speaks) say(fmt::format("{}\n", fmt::join(whole->lines, "\n")));
    // A failure of the first stays, with its reason.
    if (verdict->good) verdict = std::move(whole);
  }
  auto known = announce(matrix.runtime(), {verdict->good, 0, verdict->residual, verdict->why});
  if (!known) return known.status();
  return Outcome{known->good, known->value, known->text};
}

/// Collective: everything between start and finish. A Status is a failure of the world, which ends the job.
Result<Outcome> run(Runtime& runtime, const Options& options) {
  Input input;
  auto found = find_input(runtime, options, input);
  if (!found) return found.status();
  if (!found->good) return failure(found->text);
  auto matrix = BlockMatrix::create(runtime, distribution_of(runtime, options, input.n()), input.n(), options.block);
  if (!matrix && matrix.status().code() == grapnel::Code::no_memory) return failure(matrix.status().message());
  if (!matrix) return matrix.status();
  GRAPNEL_TRY(matrix->load(input));
  Activity mine;
  const auto seconds = timed_factorization(*matrix, mine);
  if (!seconds) return seconds.status();
  const bool speaks = runtime.rank() == Rank{0};
  if (speaks) say(headline(*matrix, options, *seconds));
  auto outcome = check(*matrix, input, options);
  if (!outcome) return outcome.status();
  mine.whole_run = difference(runtime.operation_counts(), {});
  const auto sum = sum_activity(runtime, mine);
  if (!sum) return sum.status();
  if (speaks) say(table(*sum));
  GRAPNEL_TRY(matrix->destroy());
  return outcome;
}

/// This rank alone may have failed, so there is no agreement to wait for.
[[noreturn]] void end_job(Runtime& runtime, const std::string& why) {
  say(fmt::format("lu: FAIL {}\n", why));
  runtime.abort(1, fmt::format("lu: rank {}: {}", grapnel::index(runtime.rank()), why));
}

Outcome run_or_end_job(Runtime& runtime, const Options& options) {
  try {
    auto outcome = run(runtime, options);
    if (!outcome) end_job(runtime, outcome.status().to_string());
    return *outcome;
  } catch (const std::exception& error) {
    end_job(runtime, error.what());
  }
}

/// FAIL is said before the others are let go, because a launcher ends the job when the first of them exits with 1;
/// PASS only when leaving the job has succeeded too.
int conclude(Runtime& runtime, const Outcome& outcome) {
  const bool speaks = runtime.rank() == Rank{0};
  if (speaks && !outcome.good) say(fmt::format("lu: FAIL {}\n", outcome.why));
  if (const Status left = runtime.finish(); !left) {
    std::fprintf(stderr, "lu: %s\n", left.to_string().c_str());
    if (speaks && outcome.good) say(fmt::format("lu: FAIL {}\n", left.to_string()));
    return 1;
  }
  if (speaks && outcome.good) say(fmt::format("lu: PASS residual={:.4g}\n", outcome.residual));
  return exit_code(outcome.good);
}

}  // namespace

}  // namespace lu

int main(int argc, char** argv) {
  lu::use_one_blas_thread();
  const lu::ParsedArguments arguments = lu::parse_arguments(argc, argv);
  auto started = grapnel::Runtime::start();
  if (!started) {
    std::fprintf(stderr, "lu: %s\n", started.status().to_string().c_str());
    return 1;
  }
  grapnel::Runtime& runtime = **started;
  if (arguments.exit) {
    if (runtime.rank() == grapnel::Rank{0}) {
      if (arguments.exit->code == 0) {
        lu::say(arguments.exit->text);
      } else {
        std::fputs(arguments.exit->text.c_str(), stderr);
      }
    }
    if (!runtime.finish()) return 1;
    return arguments.exit->code != 0 ? arguments.exit->code : lu::exit_code(true);
  }
  return lu::conclude(runtime, lu::run_or_end_job(runtime, arguments.options));
}
