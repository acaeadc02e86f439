// SPDX-License-Identifier: Apache-2.0
#include "dsm/notices.hpp"

#include <algorithm>
#include <array>

#include "base/check.hpp"
#include "base/varint.hpp"
#include "grapnel/barrier.hpp"

namespace grapnel::dsm {
namespace {

constexpr std::uint64_t kVersion = 1;
/// What one rank may bring to a barrier; of the rest of a barrier's payload each node has its share.
constexpr std::size_t kMostNewsBytes = 1024;

/// No varint begins with it.
constexpr std::byte kNoVarint{0};

class Writer {
 public:
  Writer& put(std::uint64_t value) {
    std::array<std::byte, base::kMostVarintBytes> room;
    out_.insert(out_.end(), room.data(), base::write_varint(room.data(), value));
    return *this;
  }
  Writer& put_bytes(ByteView bytes) {
    out_.insert(out_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  std::size_t size() const { return out_.size(); }
  Bytes take() { return std::move(out_); }
  ByteView view() const { return out_; }

 private:
  Bytes out_;
};

class Reader {
 public:
  explicit Reader(ByteView in) : in_(in) {}
  /// 0 where there is none; then `failed`.
  std::uint64_t get() {
    std::uint64_t value = 0;
    const std::size_t bytes = base::read_varint(in_.data(), in_.data() + in_.size(), value);
    if (bytes == 0) {
      failed_ = true;
      in_ = {};
      return 0;
    }
    in_ = in_.subspan(bytes);
    return value;
  }
  ByteView get_bytes(std::uint64_t count) {
    if (count > in_.size()) {
      failed_ = true;
      return in_ = {};
    }
    const ByteView taken = in_.first(count);
    in_ = in_.subspan(count);
    return taken;
  }
  bool failed() const { return failed_; }
  bool at_end() const { return in_.empty(); }

 private:
  ByteView in_;
  bool failed_ = false;
};

Bytes encode_interval(const Interval& interval) {
  Writer out;
  out.put(interval.number).put(interval.runs.size());
  std::size_t end = 0;
  for (const os::Pages& run : interval.runs) {
    GRAPNEL_ASSERT(run.first >= end, "a run of page {} behind one that ends at {}", run.first, end);
    out.put(run.first - end).put(run.count);
    end = run.first + run.count;
  }
  return out.take();
}

bool read_interval(Reader& in, std::size_t pages, Interval& interval) {
  interval.number = in.get();
  const std::uint64_t runs = in.get();
  std::size_t end = 0;
  for (std::uint64_t i = 0; i < runs && !in.failed(); ++i) {
    const std::uint64_t gap = in.get(), count = in.get();
    if (in.failed() || gap > pages - end || count > pages - end - gap) return false;
    interval.runs.push_back({end + gap, count});
    end += gap + count;
  }
  return !in.failed();
}

bool read_intervals(ByteView bytes, std::size_t pages, std::vector<Interval>& intervals) {
  Reader in(bytes);
  while (!in.at_end()) {
    if (!read_interval(in, pages, intervals.emplace_back())) return false;
  }
  return true;
}

// ---- a barrier's payload, without its intervals taken apart ----

constexpr std::uint64_t kComplete = 1, kWantsCleaning = 2;  // flags of an entry

struct RawNews {
  std::uint64_t latest = 0;
  bool complete = true, wants_cleaning = false;
  Bytes intervals, moves;
};

struct RawMeeting {
  Numbered first, other;
  std::map<std::uint64_t, RawNews> nodes;
};

Bytes encode_raw(const RawMeeting& meeting) {
  Writer out;
  out.put(meeting.first.rank).put(meeting.first.number).put(meeting.other.rank).put(meeting.other.number);
  for (const auto& [node, news] : meeting.nodes) {
    const std::uint64_t flags = (news.complete ? kComplete : 0) | (news.wants_cleaning ? kWantsCleaning : 0);
    out.put(node).put(news.latest).put(flags).put(news.intervals.size()).put_bytes(news.intervals);
    out.put(news.moves.size()).put_bytes(news.moves);
  }
  return out.take();
}

std::optional<RawMeeting> decode_raw(ByteView bytes) {
  Reader in(bytes);
  RawMeeting meeting;
  std::size_t moves_bytes = 0;
  meeting.first = {in.get(), in.get()};
  meeting.other = {in.get(), in.get()};
  while (!in.at_end() && !in.failed()) {
    const std::uint64_t node = in.get();
    RawNews& news = meeting.nodes[node];
    news.latest = in.get();
    const std::uint64_t flags = in.get();
    news.complete = (flags & kComplete) != 0;
    news.wants_cleaning = (flags & kWantsCleaning) != 0;
    const ByteView intervals = in.get_bytes(in.get());
    news.intervals.assign(intervals.begin(), intervals.end());
    const ByteView moves = in.get_bytes(in.get());
    news.moves.assign(moves.begin(), moves.end());
    moves_bytes += moves.size();
  }
  if (in.failed() || moves_bytes > kMostMovesBytes) return std::nullopt;
  return meeting;
}

void join_numbers(RawMeeting& into, const RawMeeting& from) {
  const Numbered given[] = {into.first, into.other, from.first, from.other};
  into.first = *std::min_element(std::begin(given), std::end(given),
                                 [](const auto& a, const auto& b) { return a.rank < b.rank; });
  into.other = into.first;
  for (const Numbered& one : given) {
    const bool is_other = one.number != into.first.number;
    if (is_other && (into.other.number == into.first.number || one.rank < into.other.rank)) into.other = one;
  }
}

void join_news(RawNews& into, const RawNews& from) {
  into.latest = std::max(into.latest, from.latest);
  into.complete = into.complete && from.complete;
  into.wants_cleaning = into.wants_cleaning || from.wants_cleaning;
  into.intervals.insert(into.intervals.end(), from.intervals.begin(), from.intervals.end());
  if (!into.complete) into.intervals.clear();
  into.moves.insert(into.moves.end(), from.moves.begin(), from.moves.end());
}

// Appends the moves that a node proposes. False: they make no sense.
bool read_moves(ByteView bytes, std::size_t from, std::size_t nodes, std::size_t pages, std::vector<Move>& moves) {
  Reader in(bytes);
  std::size_t end = 0;
  while (!in.at_end()) {
    const std::uint64_t gap = in.get(), count = in.get(), to = in.get();
    if (in.failed() || gap > pages - end || count == 0 || count > pages - end - gap || to >= nodes || to == from) {
      return false;
    }
    moves.push_back({{end + gap, count}, from, to});
    end += gap + count;
  }
  return true;
}

}  // namespace

Bytes encode(const Grant& grant) {
  Writer head, body;
  head.put(kVersion);
  for (const std::uint64_t count : grant.clock) head.put(count);
  std::uint64_t fitting = 0;
  for (const Interval& interval : grant.intervals) {
    const Bytes bytes = encode_interval(interval);
    if (head.size() + body.size() + bytes.size() + base::kMostVarintBytes > kMostGrantBytes) break;
    body.put_bytes(bytes);
    ++fitting;
  }
  return head.put(fitting).put_bytes(body.view()).take();
}

std::optional<Grant> decode_grant(ByteView bytes, std::size_t nodes, std::size_t pages) {
  Reader in(bytes);
  if (in.get() != kVersion) return std::nullopt;
  Grant grant;
  for (std::size_t node = 0; node < nodes; ++node) grant.clock.push_back(in.get());
  const std::uint64_t count = in.get();
  for (std::uint64_t i = 0; i < count && !in.failed(); ++i) {
    if (!read_interval(in, pages, grant.intervals.emplace_back())) return std::nullopt;
  }
  if (in.failed() || !in.at_end()) return std::nullopt;
  return grant;
}

Bytes encode(const std::vector<Move>& moves, std::size_t most) {
  Writer out;
  std::size_t end = 0;
  for (const Move& move : moves) {
    GRAPNEL_ASSERT(move.pages.first >= end, "a move of page {} behind one that ends at {}", move.pages.first, end);
    Writer one;
    one.put(move.pages.first - end).put(move.pages.count).put(move.to);
    if (out.size() + one.size() > most) break;
    out.put_bytes(one.view());
    end = move.pages.first + move.pages.count;
  }
  return out.take();
}

Bytes encode(const Numbered& mine, std::uint64_t node, const NodeNews& news) {
  RawMeeting meeting{mine, mine, {}};
  RawNews& raw = meeting.nodes[node];
  raw.latest = news.latest;
  raw.complete = news.complete;
  raw.wants_cleaning = news.wants_cleaning;
  for (const Interval& interval : news.intervals) {
    const Bytes bytes = encode_interval(interval);
    raw.complete = raw.complete && raw.intervals.size() + bytes.size() <= kMostNewsBytes;
    if (!raw.complete) break;
    raw.intervals.insert(raw.intervals.end(), bytes.begin(), bytes.end());
  }
  if (!raw.complete) raw.intervals.clear();
  raw.moves = news.moves;
  return encode_raw(meeting);
}

std::optional<Meeting> decode_meeting(ByteView bytes, std::size_t nodes, std::size_t pages) {
  const auto raw = decode_raw(bytes);
  if (!raw) return std::nullopt;
  Meeting meeting{raw->first, raw->other, {}, {}};
  for (const auto& [node, news] : raw->nodes) {
    NodeNews& out = meeting.nodes[node];
    out.latest = news.latest;
    out.complete = news.complete;
    out.wants_cleaning = news.wants_cleaning;
    if (node >= nodes || !read_intervals(news.intervals, pages, out.intervals)) return std::nullopt;
    if (!read_moves(news.moves, node, nodes, pages, meeting.moves)) return std::nullopt;
  }
  const auto first_of = [](const Move& move) { return move.pages.first; };
  std::sort(meeting.moves.begin(), meeting.moves.end(),
            [&](const Move& a, const Move& b) { return first_of(a) < first_of(b); });
  const auto overlap =
      std::adjacent_find(meeting.moves.begin(), meeting.moves.end(),
                         [&](const Move& a, const Move& b) { return first_of(a) + a.pages.count > first_of(b); });
  if (overlap != meeting.moves.end()) return std::nullopt;
  return meeting;
}

void join_meetings(Bytes& into, ByteView from) {
  auto mine = decode_raw(into);
  const auto theirs = decode_raw(from);
  if (!mine || !theirs) {
    // Each rank fails to decode this, and ends the job with a message.
    into.assign(1, kNoVarint);
    return;
  }
  join_numbers(*mine, *theirs);
  for (const auto& [node, news] : theirs->nodes) {
    const auto [found, is_new] = mine->nodes.emplace(node, news);
    if (!is_new) join_news(found->second, news);
  }
  into = encode_raw(*mine);
  while (into.size() > kMostBarrierPayload) {
    const auto longest = std::max_element(mine->nodes.begin(), mine->nodes.end(), [](const auto& a, const auto& b) {
      return a.second.intervals.size() < b.second.intervals.size();
    });
    if (longest->second.intervals.empty()) {  // made by no rank of this job
      into.assign(1, kNoVarint);
      return;
    }
    longest->second.complete = false;
    longest->second.intervals.clear();
    into = encode_raw(*mine);
  }
}

}  // namespace grapnel::dsm
