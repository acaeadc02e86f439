// `--label`: every line of a rank's output with the rank before it.
//
// One thread reads all pipes and writes whole lines, so that a reader who is slow (a pager) holds up the ranks' output
// but not the launcher.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "grapnel/status.hpp"
#include "os/descriptor.hpp"

namespace grapnel::tool {

class Labels {
 public:
  /// The ends that a rank writes to.
  struct Pipes {
    os::Descriptor output;
    os::Descriptor errors;
  };

  /// `errors`: where the ranks' error output goes.
  explicit Labels(int errors) : errors_(errors) {}
  ~Labels();
  Labels(const Labels&) = delete;
  Labels& operator=(const Labels&) = delete;

  /// Two pipes for the next rank. Before `start`.
  Result<Pipes> add_rank();
  /// After all ranks were forked: a thread before that would not be in the children, but its locks would.
  void start();
  /// Waits until everything that was written has been passed on, at most `timeout_s`.
  void drain(double timeout_s);
  /// Why standard output could not be written, as an errno (a full disk); 0: it could. A closed pipe is no error: the
  /// rank gets SIGPIPE. After `drain`.
  int error() const { return error_; }

 private:
  struct Source {
    os::Descriptor from;
    int to;
    std::string label;
    std::string line;  ///< what has come of a line that has not ended yet
  };
  Status add_source(int rank, int to, os::Descriptor& writer);
  void pass_on();
  /// False when the source has ended, or the reader of its output has closed its end: then the rank gets SIGPIPE.
  bool pass_lines(Source& source);
  /// False when the reader has closed its end. After another error the text is lost.
  bool write_out(int to, std::string_view text);

  const int errors_;
  std::vector<Source> sources_;
  int ranks_ = 0;
  std::thread thread_;
  std::atomic<bool> done_{true};
  std::atomic<int> error_{0};
};

}  // namespace grapnel::tool
