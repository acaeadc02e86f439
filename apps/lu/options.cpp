// The command line, by CLI11.
// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <map>

namespace lu {

namespace {

/// LAPACK's integers have 32 bits, and a dense matrix of more rows than this fits in no machine of today.
constexpr std::int64_t kMaxRows = 1'000'000;
/// Beyond this a block is no longer a unit of cache, and a rank's read buffers grow with its square.
constexpr std::int64_t kMaxBlock = 4096;
constexpr std::int64_t kDefaultRows = 1024;

const std::map<std::string, Layout> kLayouts = {
    {"cyclic", Layout::cyclic}, {"block", Layout::block}, {"node", Layout::node}};

/// CLI11's own would take what 64 bits cannot hold, and print the largest double, all its 309 digits.
std::string mistake_in_seed(const std::string& text) {
  std::uint64_t seed = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  return error == std::errc{} && stop == text.data() + text.size() ? "" : text + ": a number from 0 to 2^64 - 1";
}

EarlyExit early_exit(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return {0, app.help()};
  return {2, fmt::format("lu: {}\nlu: try `lu --help`\n", error.what())};
}

}  // namespace

ParsedArguments parse_arguments(int argc, const char* const* argv) {
  ParsedArguments parsed;
  Options& options = parsed.options;
  std::string layout = "cyclic";
  CLI::App app{"LU factorization without pivoting over one-sided communication (SPLASH-2 LU)", "lu"};
  CLI::Option* n = app.add_option("-n,--n", options.n, "rows of the generated matrix (default 1024)")
                       ->check(CLI::Range(std::int64_t{1}, kMaxRows));
  app.add_option("-b,--block", options.block, "rows of a block (default 32)")
      ->check(CLI::Range(std::int64_t{1}, kMaxBlock));
  app.add_option("-d,--dist", layout, "who owns which block: cyclic (default), block or node")
      ->check(CLI::IsMember(kLayouts));
  app.add_option("-m,--matrix", options.matrix_file, "a Matrix Market file, read by rank 0; --n may repeat its size")
      ->check([](const std::string& path) { return path.empty() ? "an empty name names no file" : ""; });
  app.add_option("-s,--seed", options.seed, "seed of the generated matrix (default 1)")->check(mistake_in_seed);
  app.add_flag("--verify", options.verify, "compare the factors with LAPACK's dgetrf and compute the whole residual");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    parsed.exit = early_exit(app, error);
    return parsed;
  }
  options.layout = kLayouts.at(layout);
  if (n->count() == 0 && options.matrix_file.empty()) options.n = kDefaultRows;
  return parsed;
}

}  // namespace lu
