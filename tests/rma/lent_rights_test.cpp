// Lent memory where the kernel copies nothing between processes: every rank gets that answer, with the reason.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cerrno>

#include "harness/foundation.hpp"
#include "rma/lent_programs.hpp"

namespace grapnel::test {
namespace {

// A host that hands everything on, but copies nothing, as where a seccomp filter is against it.
class ClosedHost final : public os::Host {
 public:
  explicit ClosedHost(os::Host& host) : host_(host) {}

  Status copy_to(const os::ProcessName&, std::span<const os::CopyRun>) override { return refusal(); }
  Status copy_from(const os::ProcessName&, std::span<const os::CopyRun>) override { return refusal(); }
  std::uint64_t now_ns() override { return host_.now_ns(); }
  std::size_t processors() override { return host_.processors(); }
  bool has_page_tables() const override { return host_.has_page_tables(); }
  int cpu() override { return host_.cpu(); }
  void relax() override { host_.relax(); }
  void yield() override { host_.yield(); }
  void wait(os::Word& word, std::uint32_t seen, std::uint64_t timeout_ns) override {
    host_.wait(word, seen, timeout_ns);
  }
  void wake(os::Word& word) override { host_.wake(word); }
  Result<std::unique_ptr<os::Thread>> start(const std::string& name, const std::vector<int>& cpus,
                                            std::function<void()> body) override {
    return host_.start(name, cpus, std::move(body));
  }

 private:
  static Status refusal() {
    errno = ENOSYS;
    return Status(Code::refused, "closed");
  }
  os::Host& host_;
};

// The last rank alone has no right.
void expect_learnt(Shape shape) {
  sim::WorldOptions options{.ranks = shape.ranks, .nodes = shape.nodes};
  const auto outcome = sim::run_world(options, [&](sim::RankWorld& me) {
    auto foundation = foundation_of(me);
    if (index(me.rank) + 1 == static_cast<std::size_t>(shape.ranks)) {
      foundation.host = std::make_shared<ClosedHost>(me.host);
    }
    auto started = runtime::assemble(std::move(foundation));
    ASSERT_TRUE(started.ok());
    for (int node = 0; node < shape.nodes; ++node) {
      const Status answer = rma_of(**started).copies_work(NodeId{node});
      EXPECT_EQ(answer.code(), node + 1 == shape.nodes ? Code::unavailable : Code::ok) << node;
      if (node + 1 < shape.nodes) continue;
      EXPECT_NE(answer.to_string().find("Function not implemented"), std::string::npos) << answer.to_string();
    }
    EXPECT_OK((*started)->finish());
  });
  EXPECT_TRUE(outcome.ok()) << outcome.report;
}

}  // namespace

TEST(LentRights, EveryRankLearnsWhereThereAreNone) {
  for (const Shape shape : {Shape{1, 1}, Shape{3, 1}, Shape{2, 2}, Shape{5, 2}, Shape{8, 3}}) expect_learnt(shape);
}

}  // namespace grapnel::test
