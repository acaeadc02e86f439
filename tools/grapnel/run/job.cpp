// SPDX-License-Identifier: Apache-2.0
#include "run/job.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <utility>

#include "run/message.hpp"
#include "run/signals.hpp"

namespace grapnel::tool {
namespace {

constexpr std::chrono::milliseconds kLastWords{100};
constexpr std::chrono::milliseconds kLastOfTheDying{500};
constexpr std::chrono::seconds kTermToKill{1};
constexpr std::chrono::seconds kMissed{1};
constexpr std::chrono::milliseconds kLookEvery{100};  // where one may be missing
constexpr std::chrono::seconds kUserSignalToKill{5};
constexpr int kTimeLimitExit = 124;  // as timeout(1)

}  // namespace

Job::Job(Ranks& ranks, const PmiServer& server, double timeout_s, Tell tell, std::function<void()> report)
    : ranks_(ranks), server_(server), timeout_s_(timeout_s), tell_(std::move(tell)), report_(std::move(report)) {
  if (timeout_s > 0) {
    time_limit_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout_s));
  }
}

void Job::on_rank_end(const Ranks::End& end_of_rank) {
  const bool is_failure = end_of_rank.wait_status != 0 || server_.is_in_job(end_of_rank.rank);
  if (!is_failure || WIFSIGNALED(end_of_rank.wait_status) || ending_) return judge(end_of_rank);
  judge_behind_deaths([this, end_of_rank] { judge(end_of_rank); });
}

void Job::judge_behind_deaths(std::function<void()> judge) {
  if (held_) return;
  if (!ranks_.has_dying()) return judge();
  held_ = std::move(judge);
  judge_at_ = Clock::now() + kLastOfTheDying;
}

void Job::judge(const Ranks::End& end_of_rank) {
  const int code = exit_code_of(end_of_rank.wait_status);
  if (WIFSIGNALED(end_of_rank.wait_status) && WTERMSIG(end_of_rank.wait_status) == user_signal_) {
    end("ended by " + signal_words(user_signal_), code);
  } else if (code != 0) {
    end(fmt::format("rank {} {}; the job ends", end_of_rank.rank, end_words(end_of_rank.wait_status)), code,
        kLastWords);
  } else if (server_.is_in_job(end_of_rank.rank)) {
    end(fmt::format("rank {} exited with code 0 but did not leave the job; the job ends", end_of_rank.rank), 1,
        kLastWords);
  } else {
    ended_ = end_of_rank.rank;
    if (!server_.has_joined(end_of_rank.rank)) missing_ = end_of_rank.rank;
  }
}

std::string Job::hindrance() const {
  if (missing_ >= 0 && server_.anybody_in_job()) {
    return fmt::format("rank {} exited with code 0 and never joined the job that others are in", missing_);
  }
  if (!server_.anybody_waits()) return {};
  if (server_.broken() >= 0) {
    return fmt::format("rank {} lost its connection to the launcher, and others wait for it", server_.broken());
  }
  return ended_ >= 0 ? fmt::format("rank {} exited with code 0 while others wait for it", ended_) : std::string();
}

void Job::look_for_the_missing() {
  const std::string why = hindrance();
  if (why.empty()) return missed_since_.reset();
  if (!missed_since_) missed_since_ = Clock::now();
  if (Clock::now() - *missed_since_ >= kMissed) end(why + "; the job ends", 1);
}

void Job::on_abort(const PmiServer::AbortRequest& request) {
  const std::string why = request.why.empty() ? "" : ": " + request.why;
  const int code = request.exit_code != 0 ? request.exit_code & 0xff : 1;
  judge_behind_deaths(
      [this, code, message = fmt::format("rank {} aborted the job{}", request.rank, why)] { end(message, code); });
}

void Job::on_signal(int signal) {
  ranks_.signal_all(signal);
  if (!asks_to_end(signal)) return;
  const bool again = user_signal_ != 0;
  user_signal_ = signal;
  const auto deadline = Clock::now() + (again ? Clock::duration::zero() : Clock::duration(kUserSignalToKill));
  kill_at_ = kill_at_ ? std::min(*kill_at_, deadline) : deadline;
}

void Job::end(const std::string& message, int exit_code, Clock::duration last_words) {
  if (ending_) return;
  ending_ = true;
  exit_code_ = exit_code;
  tell_(message, exit_code);
  terminate_at_ = Clock::now() + last_words;
  const auto deadline = *terminate_at_ + kTermToKill;
  kill_at_ = kill_at_ ? std::min(*kill_at_, deadline) : deadline;
  on_time();
}

void Job::on_time() {
  if (held_ && (Clock::now() >= judge_at_ || !ranks_.has_dying())) std::exchange(held_, nullptr)();
  if (!ending_) look_for_the_missing();
  if (time_limit_ && Clock::now() >= *time_limit_) {
    time_limit_.reset();
    if (!ending_) report_();
    end(fmt::format("the time limit of {} s is over; the job ends", timeout_s_), kTimeLimitExit);
  }
  if (terminate_at_ && Clock::now() >= *terminate_at_) {
    terminate_at_.reset();
    ranks_.signal_all(SIGTERM);
    ranks_.signal_all(SIGCONT);  // a stopped rank would not see the one before
  }
  if (kill_at_ && Clock::now() >= *kill_at_) {
    kill_at_.reset();
    if (!ending_) end("ended by " + signal_words(user_signal_), 128 + user_signal_);
    kill_at_.reset();
    ranks_.signal_all(SIGKILL);
  }
}

int Job::sleep_ms() const {
  std::optional<Clock::time_point> next = time_limit_;
  const auto judge_at = held_ ? std::optional(judge_at_) : std::nullopt;
  for (const auto& one : {judge_at, terminate_at_, kill_at_}) {
    if (one) next = next ? std::min(*next, *one) : *one;
  }
  const bool may_be_missed = missing_ >= 0 || ended_ >= 0 || server_.broken() >= 0;
  if (may_be_missed && !ending_) next = std::min(next.value_or(Clock::time_point::max()), Clock::now() + kLookEvery);
  if (!next) return -1;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(*next - Clock::now()).count() + 1;
  return static_cast<int>(std::clamp<decltype(left)>(left, 0, 60'000));
}

}  // namespace grapnel::tool
