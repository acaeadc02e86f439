// fft3d: the three-dimensional complex Fourier transform in shared memory, forward and back.
//
//   grapnel run -n 4 --nodes 2 -- fft3d --n 64 --iterations 2 --verify
//
// Each process transforms its planes along two axes, then copies its share of the turned cube out of all planes and
// transforms that along the third axis; two barriers per round trip.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "check.hpp"
#include "common/meter.hpp"
#include "common/program.hpp"
#include "common/progress_line.hpp"
#include "common/shared.hpp"
#include "cube.hpp"

namespace {

using fft3d::Complex;
using fft3d::Direction;

struct Options {
  std::size_t n = 32;
  std::size_t iterations = 1;
  bool verify = false;
};

enum BarrierNumber : unsigned { kPlanesDone = app::kFirstFree, kTurnedDone, kChecked };

/// Globals, because Tmk_distribute finds them by their place in the program.
Complex* cube = nullptr;
Complex* turned = nullptr;

/// One process's part: planes of x of `cube`, and planes of y of `turned`.
class Part {
 public:
  explicit Part(std::size_t n) : n_(n), mine_(app::my_rows(n)), transform_(n) {}

  void fill() {
    for (std::size_t i = mine_.begin * n_ * n_; i < mine_.end * n_ * n_; ++i) cube[i] = fft3d::start_value(i);
  }

  /// The result is this process's planes of `turned`.
  void forward(app::Meter& meter) {
    fft3d::transform_planes(transform_, cube, n_, mine_.begin, mine_.end, Direction::forward);
    meter.barrier(kPlanesDone);
    fft3d::turn(cube, turned, n_, mine_.begin, mine_.end);
    fft3d::transform_turned(transform_, turned, n_, mine_.begin, mine_.end, Direction::forward);
  }

  /// The result is this process's planes of `cube`.
  void inverse(app::Meter& meter) {
    fft3d::transform_turned(transform_, turned, n_, mine_.begin, mine_.end, Direction::inverse);
    meter.barrier(kTurnedDone);
    fft3d::turn_back(turned, cube, n_, mine_.begin, mine_.end);
    fft3d::transform_planes(transform_, cube, n_, mine_.begin, mine_.end, Direction::inverse);
  }

 private:
  std::size_t n_;
  app::Rows mine_;
  fft3d::Transform transform_;
};

app::Seconds iterate(Part& part, const Options& options) {
  app::ProgressLine progress("iteration");
  app::Meter meter;
  meter.start();
  for (std::size_t done = 0; done < options.iterations; ++done) {
    part.forward(meter);
    part.inverse(meter);
    progress.show(done + 1, options.iterations);
  }
  meter.stop();
  return meter.seconds();
}

/// Prints it. Also a NaN is too large.
bool is_small(double error, const char* what) {
  app::print(fmt::format("error       {:>12.3g} {}\n", error, what));
  return error <= fft3d::kMostError;
}

/// Of process 0, after all round trips.
app::Verdict verify_back(const Options& options, const app::Seconds& mine) {
  double seconds = 0;
  const std::vector<Complex> expected = fft3d::sequential(options.n, options.iterations, seconds);
  app::print(fmt::format("sequential  {:>12.6f} s, ratio {:.3f}\n", seconds, mine.wall / seconds));
  if (std::memcmp(cube, expected.data(), expected.size() * sizeof(Complex)) != 0) {
    return app::fail("the cube differs from the sequential run's");
  }
  const double error = fft3d::error_of_start(cube, options.n);
  if (!is_small(error, "after forward and back")) return app::fail(fmt::format("error={:.3g} after both", error));
  return app::pass(fmt::format("error={:.3g}", error));
}

/// Of process 0, after one more forward transform.
app::Verdict verify_forward(const Options& options) {
  const double at_samples = fft3d::error_at_samples(turned, options.n);
  if (!is_small(at_samples, "forward, at sample points")) {
    return app::fail(fmt::format("error={:.3g} forward, at sample points", at_samples));
  }
  const auto against_fftw = fft3d::error_against_fftw(turned, options.n);
  if (!against_fftw) return app::pass(fmt::format("error={:.3g} at sample points", at_samples));
  if (!is_small(*against_fftw, "forward, against FFTW")) {
    return app::fail(fmt::format("error={:.3g} forward, against FFTW", *against_fftw));
  }
  return app::pass(fmt::format("error={:.3g}", *against_fftw));
}

/// Collective.
app::Verdict verify(Part& part, const Options& options, const app::Seconds& mine) {
  app::Verdict verdict;
  if (Tmk_proc_id == 0) verdict = verify_back(options, mine);
  Tmk_barrier(kChecked);
  app::Meter unused;
  part.forward(unused);
  Tmk_barrier(kTurnedDone);
  if (Tmk_proc_id != 0 || verdict.kind == app::Verdict::Kind::fail) return verdict;
  return verify_forward(options);
}

app::Verdict work(const Options& options) {
  const std::size_t elements = options.n * options.n * options.n;
  app::distribute(cube, [elements] { return app::allocate<Complex>(elements); });
  app::distribute(turned, [elements] { return app::allocate<Complex>(elements); });
  if (cube == nullptr || turned == nullptr) return app::no_room();
  Part part(options.n);
  part.fill();
  const app::Seconds seconds = iterate(part, options);
  app::print(fmt::format("cube        {} x {} x {}, {} times forward and back\n", options.n, options.n, options.n,
                         options.iterations));
  app::print(app::time_table(seconds));
  return options.verify ? verify(part, options, seconds) : app::not_verified();
}

std::string mistake_in_size(const std::string& text) {
  std::size_t n = 0;
  if (CLI::detail::lexical_cast(text, n) && n >= 1 && n <= 1024 && std::has_single_bit(n)) return {};
  return fmt::format("{} is not a power of two from 1 to 1024", text);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  const auto add_options = [&options](CLI::App& line) {
    line.add_option("-n,--n", options.n, "length of the cube, a power of two up to 1024 (default 32)")
        ->check(mistake_in_size);
    line.add_option("-i,--iterations", options.iterations, "how many times forward and back (default 1)")
        ->check(CLI::Range(std::size_t{0}, std::size_t{1'000'000'000}));
    line.add_flag("--verify", options.verify, "compare with the start, with a sequential run, and with FFTW");
  };
  app::run({"fft3d", "Three-dimensional Fourier transform in shared memory", add_options,
            [&options] { return work(options); }},
           argc, argv);
}
