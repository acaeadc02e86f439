// SPDX-License-Identifier: Apache-2.0
#include "dsm/report.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/codec.hpp"
#include "base/log.hpp"
#include "base/output.hpp"
#include "dsm/report_text.hpp"
#include "dsm/settings.hpp"
#include "exchange/agreement.hpp"
#include "os/code_place.hpp"

namespace grapnel::dsm {
namespace {

Result<os::Descriptor> make_file(const std::string& file) {
  os::Descriptor made(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (made.valid()) return made;
  return Status(Code::system, fmt::format("GRAPNEL_DSM_REPORT=\"{}\" cannot be written: {}; name a file that can be",
                                          file, std::strerror(errno)));
}

// Rank 0 sends whether it wants a report, and whether its file is made. All ranks return its answer.
Result<bool> agree(core::Core& core, bool wanted, const Status& made) {
  base::Encoder out;
  exchange::put_status(out, made);
  out.put(wanted ? std::uint32_t{1} : std::uint32_t{0});
  GRAPNEL_ASSIGN_OR_RETURN(const auto all, core.exchange.allgather(core.world, out.view()));
  base::Decoder in(all.front());
  const auto status = exchange::get_status(in);
  const auto first = in.get<std::uint32_t>();
  if (!first || !status) return Status(Code::system, "rank 0 sent an answer that makes no sense");
  GRAPNEL_TRY(*status);
  return *first != 0;
}

}  // namespace

Report::Report(core::Core& core, const HeapMemory& memory, std::string file, os::Descriptor descriptor)
    : core_(core),
      memory_(memory),
      twins_(memory, core.host),
      file_(std::move(file)),
      descriptor_(std::move(descriptor)) {}

Result<std::shared_ptr<Report>> Report::open(core::Core& core, const HeapMemory& memory) {
  const std::string& file = core.config.get<Settings>().report;
  os::Descriptor descriptor;
  Status made;
  if (index(core.launch.rank()) == 0 && !file.empty()) {
    auto opened = make_file(file);
    made = opened.status();
    if (made.ok()) descriptor = *std::move(opened);
  }
  GRAPNEL_ASSIGN_OR_RETURN(const bool wanted, agree(core, !file.empty(), made));
  if (!wanted) return std::shared_ptr<Report>();
  return std::shared_ptr<Report>(new Report(core, memory, file, std::move(descriptor)));
}

void Report::add_fetch(std::span<const std::size_t> pages) {
  for (const std::size_t page : pages) uses_.add_fetch(page);
}

void Report::add_diff(std::size_t page, ByteView diff) {
  uses_.add_write(page, words_of_diff(diff));
  uses_.add_diffs(page, 1);
}

void Report::add_records(std::size_t page, std::size_t count) {
  uses_.add_fetch(page);
  uses_.add_diffs(page, count);
}

Status Report::add_home_writes(std::span<const std::size_t> pages) {
  for (const std::size_t page : pages) {
    GRAPNEL_ASSIGN_OR_RETURN(const WordSet words, twins_.take_changes(page, core_.waiting));
    if (!words.empty()) uses_.add_write(page, words);
  }
  return {};
}

void Report::add_block(std::uint64_t offset, std::size_t bytes, std::string_view name, const void* return_address) {
  const base::MutexLock lock(mutex_);
  if (blocks_.size() == kMostBlocks) {
    ++lost_blocks_;
    return;
  }
  blocks_.push_back({offset, bytes, std::string(name.substr(0, kMostNameBytes)), os::place_of_call(return_address)});
}

RankSharing Report::mine() const {
  RankSharing mine;
  mine.noted = uses_.noted();
  for (const PageUse& use : mine.noted.uses) {
    mine.homes.push_back(memory_.words(use.page).home.load(std::memory_order_relaxed));
  }
  const base::MutexLock lock(mutex_);
  mine.blocks = blocks_;
  mine.lost_blocks = lost_blocks_;
  return mine;
}

Status Report::close(std::uintptr_t base) {
  const RankSharing my_part = mine();
  const auto all = core_.exchange.allgather(core_.world, encode(my_part));
  if (index(core_.launch.rank()) != 0) return all.status();
  const launch::NodeMap& nodes = core_.launch.nodes();
  Sharing sharing;
  sharing.base = base;
  sharing.ranks = nodes.node_of.size();
  sharing.nodes = nodes.node_count();
  if (!all) sharing.add(my_part, static_cast<std::uint32_t>(index(core_.launch.node())));
  for (std::size_t rank = 0; all && rank < all->size(); ++rank) {
    const auto one = decode_sharing((*all)[rank], memory_.page_count(), sharing.nodes);
    if (one) sharing.add(*one, static_cast<std::uint32_t>(index(nodes.node_of[rank])));
  }
  write(sharing);
  return all.status();
}

// The program's results do not depend on it: where the file cannot be written in the end, that is a warning.
void Report::write(const Sharing& sharing) const {
  const std::vector<Finding> findings = find(sharing);
  const int failed = base::write_all(descriptor_.number(), json_of(sharing, findings));
  if (failed != 0) base::log_warn("GRAPNEL_DSM_REPORT=\"{}\": writing failed: {}", file_, std::strerror(failed));
  (void)base::write_all(STDERR_FILENO, sentences_of(sharing, findings, file_));
}

}  // namespace grapnel::dsm
