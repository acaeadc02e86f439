// SPDX-License-Identifier: Apache-2.0
#include "runtime/job_status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/build.hpp"
#include "base/codec.hpp"
#include "progress/wait_record.hpp"

namespace grapnel::runtime {
namespace {

using progress::WaitKind;

constexpr std::uint32_t kMostRanks = 1 << 20;

ByteView view_of(const std::string& text) { return std::as_bytes(std::span(text.data(), text.size())); }

template <typename T>
ByteView view_of(const std::vector<T>& list) {
  return std::as_bytes(std::span(list));
}

// The numbers of fixed size, in one piece.
struct Fixed {
  std::uint32_t rank, size, node, nodes;
  std::int32_t process;
  std::uint32_t waiting_threads;
  std::uint64_t what[3];
  std::uint64_t waited_ns, more_held, handled, parked, refused;
  std::uint32_t kind, more_members, has_server, server_asleep;
};

template <typename T>
bool read(base::Decoder& in, std::vector<T>& list) {
  const auto bytes = in.get_string();
  if (!bytes || bytes->size() % sizeof(T) != 0) return false;
  list.resize(bytes->size() / sizeof(T));
  if (!list.empty()) std::memcpy(static_cast<void*>(list.data()), bytes->data(), bytes->size());
  return true;
}

// Root asks any user's process, which could send anything: no control characters reach the terminal, and lists of ranks
// are no longer than the job.
bool read(base::Decoder& in, std::string& text) {
  const auto bytes = in.get_string();
  if (!bytes) return false;
  for (const std::byte one : *bytes) {
    const auto c = static_cast<unsigned char>(one);
    text += c >= 0x20 && c < 0x7f ? static_cast<char>(c) : '?';
  }
  return true;
}

bool ascend(const Runs& runs, std::uint32_t size) {
  std::uint64_t next = 0;
  for (const auto& [first, last] : runs) {
    if (first < next || last < first || last >= size) return false;
    next = std::uint64_t{last} + 1;
  }
  return true;
}

std::string words(const Runs& runs, bool more = false) {
  const bool one = runs.size() == 1 && runs[0].first == runs[0].second;
  std::string text = one ? "rank " : "ranks ";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto& [first, last] = runs[i];
    text += fmt::format("{}{}", i == 0 ? "" : ", ", first);
    if (last > first) text += fmt::format("{}{}", last == first + 1 ? ", " : " to ", last);
  }
  return more ? text + ", ..." : text;
}

bool contains(const Runs& runs, std::uint32_t rank) {
  return std::any_of(runs.begin(), runs.end(),
                     [&](const auto& run) { return run.first <= rank && rank <= run.second; });
}

Runs runs_of(const std::vector<std::uint32_t>& ascending) {
  Runs runs;
  for (const std::uint32_t rank : ascending) {
    if (!runs.empty() && runs.back().second + 1 == rank) {
      runs.back().second = rank;
    } else {
      runs.emplace_back(rank, rank);
    }
  }
  return runs;
}

std::string seconds(std::uint64_t ns) {
  return fmt::format("{}.{} s", ns / 1'000'000'000, ns % 1'000'000'000 / 100'000'000);
}

// A set's number names the first member of its group and a number of that one's own (locks/lock_set.hpp).
std::string lock_words(std::uint64_t set, std::uint64_t index, std::uint64_t home) {
  const std::uint64_t first = set >> 32, number = set & UINT32_MAX;
  const std::string name = first == 0 ? fmt::format("{}", number) : fmt::format("{}.{}", first, number);
  const std::string of_set = set == 1 ? "" : " of set " + name;
  return fmt::format("lock {} of rank {}{}", index, home, of_set);
}

// Of one job.
class Lines {
 public:
  void add(const RankProcess& process, const std::optional<RankStatus>& status) {
    processes_.push_back({&process, status ? &*status : nullptr});
  }

  std::string all() {
    std::sort(processes_.begin(), processes_.end(), [](const auto& a, const auto& b) { return a.rank() < b.rank(); });
    for (const Process& one : processes_) {
      if (one.status != nullptr) ranks_.push_back(one.status);
    }
    std::string text = title();
    for (const Process& one : processes_) {
      text += one.status != nullptr
                  ? rank_line(*one.status)
                  : fmt::format("  rank {} (process {}): no answer (stopped, at its start or at its end)\n", one.rank(),
                                one.process->process);
    }
    if (!ranks_.empty()) text += ended(*ranks_.front());
    for (const RankStatus* one : ranks_) {
      if (one->has_server) text += server_line(*one);
    }
    return ranks_.empty() ? text : text + elsewhere(*ranks_.front());
  }

 private:
  std::string rank_line(const RankStatus& one) const {
    std::string text = fmt::format("  rank {} (node {}, process {}): ", one.rank, one.node, one.process);
    if (one.waiting_threads == 0) {
      text += "does not wait";
    } else {
      const std::string call = one.call.empty() ? "" : " in " + one.call;
      text += fmt::format("waits{} for {}: {}", call, seconds(one.waited_ns), subject(one));
      if (one.waiting_threads > 1) text += fmt::format(" ({} more threads wait)", one.waiting_threads - 1);
    }
    for (std::size_t i = 0; i < one.held.size(); ++i) {
      const RankStatus::Lock& lock = one.held[i];
      text += fmt::format(
          "{} {}{}", i == 0 ? "; holds" : ",",
          lock_words(lock.set, static_cast<std::uint64_t>(lock.index), static_cast<std::uint64_t>(lock.home)),
          lock.shared != 0 ? " (shared)" : "");
    }
    if (one.more_held > 0) text += fmt::format(" and {} more locks", one.more_held);
    for (std::size_t i = 0; i < one.outstanding.size(); ++i) {
      text += fmt::format("{} {} at node {}", i == 0 ? "; outstanding requests:" : ",", one.outstanding[i].requests,
                          one.outstanding[i].node);
    }
    return text + "\n";
  }

  std::string subject(const RankStatus& one) const {
    switch (static_cast<WaitKind>(one.kind)) {
      case WaitKind::barrier: return meeting(one, "barrier");
      case WaitKind::collective: return meeting(one, "collective call");
      case WaitKind::lock: return lock(one);
      case WaitKind::notification: return fmt::format("a notification from rank {}", one.what[0]);
      case WaitKind::signal: return fmt::format("a signal: its word has counted {} of {}", one.what[0], one.what[1]);
      case WaitKind::message:
        return fmt::format("rank {}, which has not called it or has not sent its part", one.what[0]);
      case WaitKind::inbox: return fmt::format("room in the inbox of rank {}", one.what[0]);
      case WaitKind::answer:
        return one.what[0] == UINT64_MAX ? "the answer of a node's server"
                                         : fmt::format("an answer of node {}'s server", one.what[0]);
      case WaitKind::connection: return fmt::format("a connection to node {}'s server", one.what[0]);
      case WaitKind::departure: return fmt::format("messages to node {} that have not left", one.what[0]);
      case WaitKind::window: return fmt::format("room in the window of node {}'s server", one.what[0]);
      case WaitKind::fence: return fmt::format("node {}'s server to have applied its writes", one.what[0]);
      case WaitKind::stripe: return "memory that another rank updates";
      case WaitKind::page:
        return fmt::format("page {} of the shared heap, which another rank of its node fetches or flushes",
                           one.what[0]);
      case WaitKind::condition:
        return fmt::format("condition {} of the shared heap, with its lock {}", one.what[0], one.what[1]);
      case WaitKind::mpi: return "MPI";
      case WaitKind::fence_of_launcher: return "all ranks, by the launcher's fence or on the way to it";
      case WaitKind::none: break;
    }
    return "something inside the call";
  }

  // Another wait of the same barrier, or of the same phase of a collective call, has the same key and count.
  std::string meeting(const RankStatus& one, const char* what) const {
    std::vector<std::uint32_t> missing;
    for (const auto& [first, last] : one.members) {
      for (std::uint32_t rank = first; rank <= last && rank < one.size; ++rank) {
        if (!contains(one.on_machine, rank)) continue;
        const auto found = std::find_if(ranks_.begin(), ranks_.end(), [&](const auto* r) { return r->rank == rank; });
        const bool there = found != ranks_.end() && (*found)->waiting_threads > 0 && (*found)->kind == one.kind &&
                           std::equal(one.what, one.what + 2, (*found)->what);
        if (!there) missing.push_back(rank);
      }
    }
    const std::string group = words(one.members, one.more_members);
    if (missing.empty()) return fmt::format("the {} of {}", what, group);
    const Runs runs = runs_of(missing);
    return fmt::format("the {} of {}; {} {} not wait in it", what, group, words(runs),
                       missing.size() == 1 ? "does" : "do");
  }

  std::string lock(const RankStatus& one) const {
    std::vector<std::uint32_t> holders;
    for (const RankStatus* other : ranks_) {
      for (const RankStatus::Lock& held : other->held) {
        if (held.set == one.what[0] && static_cast<std::uint64_t>(held.index) == one.what[1] &&
            static_cast<std::uint64_t>(held.home) == one.what[2]) {
          holders.push_back(other->rank);
        }
      }
    }
    const std::string name = lock_words(one.what[0], one.what[1], one.what[2]);
    return holders.empty() ? name : fmt::format("{}, held by {}", name, words(runs_of(holders)));
  }

  static std::string server_line(const RankStatus& one) {
    const std::string refused = one.refused == 0 ? "" : fmt::format(", {} refused", one.refused);
    return fmt::format("  node {}'s server (rank {}'s process): {}, {} requests handled{}, {} parked\n", one.node,
                       one.rank, one.server_asleep ? "asleep" : "awake", one.handled, refused, one.parked);
  }

  std::string title() const {
    if (ranks_.empty()) return "job of which no rank answers:\n";
    const RankStatus& first = *ranks_.front();
    return fmt::format("job of {} rank{} on {} node{}, host {}:\n", first.size, first.size == 1 ? "" : "s", first.nodes,
                       first.nodes == 1 ? "" : "s", first.host);
  }

  std::string ended(const RankStatus& first) const {
    std::vector<std::uint32_t> gone;
    auto next = processes_.begin();
    for (const auto& [begin, last] : first.on_machine) {
      for (std::uint32_t rank = begin; rank <= last; ++rank) {
        while (next != processes_.end() && next->rank() < rank) ++next;
        if (next == processes_.end() || next->rank() != rank) gone.push_back(rank);
      }
    }
    return gone.empty() ? "" : fmt::format("  {}: ended, or without a status socket\n", words(runs_of(gone)));
  }

  static std::string elsewhere(const RankStatus& first) {
    std::vector<std::uint32_t> ranks;
    for (std::uint32_t rank = 0; rank < first.size; ++rank) {
      if (!contains(first.on_machine, rank)) ranks.push_back(rank);
    }
    return ranks.empty() ? "" : fmt::format("  {}: on other hosts; ask there\n", words(runs_of(ranks)));
  }

  struct Process {
    const RankProcess* process;
    const RankStatus* status;  ///< null: no answer
    std::uint32_t rank() const { return status != nullptr ? status->rank : process->rank; }
  };
  std::vector<Process> processes_;
  std::vector<const RankStatus*> ranks_;
};

}  // namespace

Bytes RankStatus::encode() const {
  Fixed fixed{};
  fixed.rank = rank, fixed.size = size, fixed.node = node, fixed.nodes = nodes;
  fixed.process = process;
  fixed.waiting_threads = waiting_threads;
  std::copy(what, what + 3, fixed.what);
  fixed.waited_ns = waited_ns, fixed.more_held = more_held;
  fixed.handled = handled, fixed.parked = parked, fixed.refused = refused;
  fixed.kind = kind, fixed.more_members = more_members;
  fixed.has_server = has_server, fixed.server_asleep = server_asleep;
  base::Encoder out;
  out.put_string(view_of(base::build_name())).put(fixed);
  out.put_string(view_of(host)).put_string(view_of(call));
  out.put_string(view_of(on_machine)).put_string(view_of(members));
  out.put_string(view_of(held)).put_string(view_of(outstanding));
  return out.take();
}

Result<RankStatus> RankStatus::decode(ByteView bytes) {
  base::Decoder in(bytes);
  std::string build;
  if (!read(in, build) || build != base::build_name()) {
    return Status(Code::unavailable,
                  fmt::format("the job has another build of Grapnel, {}; this is {}", build, base::build_name()));
  }
  RankStatus one;
  const auto fixed = in.get<Fixed>();
  if (!fixed || !read(in, one.host) || !read(in, one.call) || !read(in, one.on_machine) || !read(in, one.members) ||
      !read(in, one.held) || !read(in, one.outstanding)) {
    return Status(Code::refused, "a rank's answer cannot be read");
  }
  one.rank = fixed->rank, one.size = fixed->size, one.node = fixed->node, one.nodes = fixed->nodes;
  if (one.size > kMostRanks || one.rank >= one.size || !ascend(one.on_machine, one.size) ||
      !ascend(one.members, one.size)) {
    return Status(Code::refused, "a rank's answer names ranks that its job cannot have");
  }
  one.process = fixed->process;
  one.waiting_threads = fixed->waiting_threads;
  std::copy(fixed->what, fixed->what + 3, one.what);
  one.waited_ns = fixed->waited_ns, one.more_held = fixed->more_held;
  one.handled = fixed->handled, one.parked = fixed->parked, one.refused = fixed->refused;
  one.kind = static_cast<std::uint8_t>(fixed->kind), one.more_members = fixed->more_members != 0;
  one.has_server = fixed->has_server != 0, one.server_asleep = fixed->server_asleep != 0;
  return one;
}

std::string describe(const Answers& answers) {
  std::map<std::uint64_t, Lines> jobs;
  for (std::size_t i = 0; i < answers.processes.size(); ++i) {
    jobs[answers.processes[i].job].add(answers.processes[i], answers.statuses[i]);
  }
  std::string text;
  for (auto& [job, lines] : jobs) {
    if (!text.empty()) text += '\n';
    text += lines.all();
  }
  return text;
}

}  // namespace grapnel::runtime
