// What ends a job, and how: the rules, without a system call of their own but signals to ranks.
//
//   - the first rank that fails (exit code, signal, or an end without leaving the job) ends it with one line; where
//     another one is dying then, half a second is left for that end to be collected: a signal is the cause, the other
//     end its consequence;
//   - so does a rank that ended well and never joined the job, where others have been in it for a second since: they
//     wait for it at their start; one that ended well while others wait for it in a fence; and one whose connection the
//     server has closed because of what it sent;
//   - so does a rank that asks to abort, the time limit, and a signal from the user that ended a rank;
//   - ending: SIGTERM to all, SIGKILL a second later; when a rank died SIGTERM arrives a tenth of a second later, so
//     that the others can say what they waited for (docs/locks.md);
//   - a signal that asks to end is passed on first; ranks that are still there five seconds later are killed, or at
//     once when the user asks a second time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "run/pmi_server.hpp"
#include "run/ranks.hpp"

namespace grapnel::tool {

class Job {
 public:
  /// Why the job ends and with which exit code; once, before any rank is ended.
  using Tell = std::function<void(const std::string& why, int exit_code)>;

  /// `report`: prints what the ranks wait for; before the time limit ends them.
  Job(Ranks& ranks, const PmiServer& server, double timeout_s, Tell tell, std::function<void()> report);

  void on_rank_end(const Ranks::End& end);
  void on_abort(const PmiServer::AbortRequest& request);
  void on_signal(int signal);
  /// After every sleep: does what is due.
  void on_time();
  /// How long one may sleep before something is due, ms; −1: for ever.
  int sleep_ms() const;

  bool is_over() const { return ranks_.living() == 0; }
  int exit_code() const { return exit_code_; }

 private:
  using Clock = std::chrono::steady_clock;

  void judge(const Ranks::End& end_of_rank);
  /// Judges now; where a rank is dying, whose death may be the cause, later, and only the first.
  void judge_behind_deaths(std::function<void()> judge);
  /// Others wait, now and for a second since, for a rank that cannot come.
  void look_for_the_missing();
  void end(const std::string& message, int exit_code, Clock::duration last_words = {});

  Ranks& ranks_;
  const PmiServer& server_;
  const double timeout_s_;
  const Tell tell_;
  const std::function<void()> report_;
  bool ending_ = false;
  int exit_code_ = 0;
  int user_signal_ = 0;
  /// Why a fence of the others cannot be passed, if there is one. Empty: nothing known.
  std::string hindrance() const;

  int missing_ = -1;            ///< a rank that ended well and never joined; −1: none
  int ended_ = -1;              ///< a rank that ended well
  std::function<void()> held_;  ///< judges an end or an abort: at `judge_at_`, or when no rank is dying any more
  Clock::time_point judge_at_;
  std::optional<Clock::time_point> missed_since_;
  std::optional<Clock::time_point> time_limit_;
  std::optional<Clock::time_point> terminate_at_, kill_at_;
};

}  // namespace grapnel::tool
