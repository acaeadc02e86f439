// PMI-1's lines, texts and client, against launchers that lie.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <random>
#include <thread>

#include "launch/internal/pmi1_client.hpp"
#include "launch/launcher_signs.hpp"
#include "launch/pmi1_protocol.hpp"
#include "os/host.hpp"

namespace grapnel::launch {
namespace {

TEST(Pmi1Lines, AreTakenApart) {
  const auto message = parse_pmi1("cmd=get_result rc=-1 msg=key_a_not_found value=a=b=c");
  ASSERT_TRUE(message.ok()) << message.status().message();
  EXPECT_EQ(message->command, "get_result");
  EXPECT_EQ(*message->number("rc"), -1);
  EXPECT_EQ(*message->text("value"), "a=b=c");
  EXPECT_EQ(message->text("other").status().code(), Code::refused);
  EXPECT_EQ(message->number("msg").status().code(), Code::refused);
  EXPECT_TRUE(parse_pmi1(" cmd=barrier_out  ").ok());
  EXPECT_EQ(*parse_pmi1("cmd=get_result value=")->text("value"), "");
}

TEST(Pmi1Lines, GarbledOnesAreRefused) {
  for (const std::string& line :
       {std::string(), std::string("barrier_out"), std::string("rc=0 cmd=x"), std::string("cmd=x cmd=y"),
        std::string("cmd="), std::string("cmd=x =1"), std::string("cmd=x rc=0 rc=1"), std::string("cmd=x word"),
        std::string("cmd=x\0y=1", 9), std::string("cmd=x y=\x80"), std::string("cmd=x\ty=1"), std::string("   "),
        "cmd=x y=" + std::string(kPmi1LongestLine, 'y')}) {
    EXPECT_EQ(parse_pmi1(line).status().code(), Code::refused) << line;
  }
  for (const char* number : {"cmd=x n=", "cmd=x n=1x", "cmd=x n=99999999999", "cmd=x n=+1"}) {
    EXPECT_EQ(parse_pmi1(number)->number("n").status().code(), Code::refused) << number;
  }
}

TEST(Pmi1Lines, NoiseNeverCrashes) {
  std::mt19937 dice(1);
  const std::string letters = std::string("cmd= \nx1=:-abc\x80") + '\0';
  for (int round = 0; round < 20'000; ++round) {
    std::string line = round % 2 == 0 ? "cmd=get_result " : "";
    for (std::size_t i = dice() % 40; i > 0; --i) line += letters[dice() % letters.size()];
    if (const auto message = parse_pmi1(line)) {
      EXPECT_FALSE(message->command.empty());
      [[maybe_unused]] const auto number = message->number("rc");
    }
    [[maybe_unused]] const auto first = pmi1_first(line);
    [[maybe_unused]] const auto bytes = from_base64(line);
  }
}

TEST(Pmi1Texts, Base64GoesThereAndBack) {
  std::mt19937 dice(2);
  for (std::size_t size = 0; size < 200; ++size) {
    Bytes bytes(size);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(dice());
    const auto back = from_base64(to_base64(bytes));
    ASSERT_TRUE(back.has_value()) << size;
    EXPECT_EQ(*back, bytes);
  }
  for (const char* text : {"A", "AB=", "AB==", "A B", "AAAAA", "AB", "é"}) EXPECT_FALSE(from_base64(text)) << text;
}

TEST(Pmi1Texts, ValuesAreSplitWithinTheLimit) {
  for (const std::size_t limit : {6u, 16u, 64u, 1023u}) {
    for (const std::size_t size : {0u, 1u, 3u, 44u, 45u, 46u, 700u, 5'000u}) {
      const Bytes value(size, std::byte{0xa5});
      const auto entries = pmi1_entries(value, limit);
      ASSERT_TRUE(entries.ok()) << entries.status().message();
      const auto first = pmi1_first(entries->front());
      ASSERT_TRUE(first.has_value());
      EXPECT_EQ(first->entries, entries->size());
      std::string text(first->text);
      for (std::size_t i = 0; i < entries->size(); ++i) {
        EXPECT_LE((*entries)[i].size(), limit);
        if (i > 0) text += (*entries)[i];
      }
      EXPECT_EQ(from_base64(text), value);
    }
  }
  EXPECT_EQ(pmi1_entries(Bytes(100'000), 6).status().code(), Code::invalid_argument);
  EXPECT_EQ(pmi1_entries(Bytes(1), 5).status().code(), Code::refused);
  for (const char* text : {"", "1", ":", "x:", "0:", "10000:", "-1:", "1 :"}) EXPECT_FALSE(pmi1_first(text)) << text;
}

TEST(Pmi1Texts, KeysAreDistinctAndBounded) {
  EXPECT_EQ(*pmi1_key(0, Rank{3}, 2, "grapnel.a", 63), "g0.3.2.grapnel.a");
  EXPECT_EQ(*pmi1_key(0, Rank{3}, 2, "a b=c-", 63), "g0.3.2.a-20b-3dc-2d");
  EXPECT_EQ(pmi1_key(0, Rank{3}, 2, std::string(60, 'k'), 63).status().code(), Code::invalid_argument);
}

// The other end of a client's socket: answers each line that arrives with the next one of its list, then hangs up.
class FakeLauncher {
 public:
  explicit FakeLauncher(std::vector<std::string> answers) : answers_(std::move(answers)) {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()), 0);
    thread_ = std::thread([this] { serve(); });
  }
  ~FakeLauncher() {
    ::shutdown(ends_[0], SHUT_RDWR);
    thread_.join();
    ::close(ends_[0]);
  }
  int socket() const { return ends_[0]; }

 private:
  void serve() {
    for (const std::string& answer : answers_) {
      char c = 0;
      while (c != '\n') {
        if (::read(ends_[1], &c, 1) != 1) break;
      }
      // In two pieces, as a stream may.
      const std::size_t half = answer.size() / 2;
      if (::send(ends_[1], answer.data(), half, MSG_NOSIGNAL) < 0) break;
      if (::send(ends_[1], answer.data() + half, answer.size() - half, MSG_NOSIGNAL) < 0) break;
    }
    ::close(ends_[1]);
  }

  const std::vector<std::string> answers_;
  std::array<int, 2> ends_{};
  std::thread thread_;
};

const std::vector<std::string> kGreeting = {"cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n",
                                            "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n",
                                            "cmd=my_kvsname kvsname=kvs_1\n"};

std::vector<std::string> greeting_and(std::vector<std::string> more) {
  more.insert(more.begin(), kGreeting.begin(), kGreeting.end());
  return more;
}

class Pmi1Clients : public testing::Test {
 protected:
  Status connect_status(std::vector<std::string> answers) {
    const FakeLauncher launcher(std::move(answers));
    return Pmi1Client::connect(*host_, launcher.socket()).status();
  }
  const Pmi1Client::Health well_ = [] { return Status(); };
  std::unique_ptr<os::Host> host_ = os::make_real_host();
};

TEST_F(Pmi1Clients, Talk) {
  const FakeLauncher launcher(greeting_and({"cmd=put_result rc=0 msg=success\n", "cmd=barrier_out\n",
                                            "cmd=get_result rc=0 msg=success value=v\n",
                                            "cmd=get_result rc=-1 msg=key_b_not_found value=unknown\n",
                                            "cmd=put_result rc=-1 msg=full\n", "cmd=finalize_ack\n"}));
  const auto connected = Pmi1Client::connect(*host_, launcher.socket());
  ASSERT_TRUE(connected.ok()) << connected.status().message();
  Pmi1Client& client = **connected;
  EXPECT_EQ(client.key_limit(), 63u);
  EXPECT_EQ(client.value_limit(), 900u);
  EXPECT_TRUE(client.put("a", "v", well_).ok());
  EXPECT_TRUE(client.barrier(well_).ok());
  EXPECT_EQ(*client.get("a", well_), "v");
  EXPECT_EQ(client.get("b", well_).status().code(), Code::invalid_argument);
  const Status refused = client.put("c", "v", well_);
  EXPECT_EQ(refused.code(), Code::refused);
  EXPECT_NE(refused.message().find("full"), std::string::npos);
  client.finalize();
  EXPECT_EQ(client.barrier(well_).code(), Code::peer_dead);
}

TEST_F(Pmi1Clients, OtherProtocolsAreRefused) {
  EXPECT_EQ(connect_status({"cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n"}).code(), Code::unavailable);
  EXPECT_EQ(connect_status({"cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n"}).code(), Code::unavailable);
  EXPECT_EQ(connect_status({"    22cmd=fullinit-response;\n"}).code(), Code::refused);
  EXPECT_EQ(connect_status({"cmd=barrier_out\n"}).code(), Code::refused);
  EXPECT_EQ(connect_status({std::string(2 * kPmi1LongestLine, 'x')}).code(), Code::refused);
  EXPECT_EQ(connect_status({}).code(), Code::peer_dead);
  EXPECT_EQ(connect_status({kGreeting[0], "cmd=maxes keylen_max=0 vallen_max=1024\n"}).code(), Code::refused);
  EXPECT_EQ(connect_status({kGreeting[0], "cmd=maxes keylen_max=64\n"}).code(), Code::refused);
  EXPECT_EQ(connect_status({kGreeting[0], kGreeting[1], "cmd=my_kvsname\n"}).code(), Code::refused);
  EXPECT_EQ(Pmi1Client::connect(*host_, 9999).status().code(), Code::unavailable);
}

TEST_F(Pmi1Clients, AFailedHealthEndsABarrier) {
  const FakeLauncher launcher(greeting_and({"", ""}));  // takes barrier_in and answers nothing
  const auto connected = Pmi1Client::connect(*host_, launcher.socket());
  ASSERT_TRUE(connected.ok());
  int looks = 0;
  const Status ended =
      (*connected)->barrier([&] { return ++looks < 3 ? Status() : Status(Code::peer_dead, "rank 3 died"); });
  EXPECT_EQ(ended.message(), "rank 3 died");
}

TEST(LauncherSigns, NameTheLauncherAndItsCount) {
  const auto of = [](LauncherSigns::Variables variables) { return LauncherSigns(std::move(variables)).launcher(); };
  EXPECT_FALSE(of({}).has_value());
  EXPECT_FALSE(of({{"PMI_SIZE", "4"}}).has_value());
  EXPECT_EQ(of({{"PMI_SIZE", "4"}, {"PMI_RANK", "0"}})->ranks, 4);
  EXPECT_EQ(of({{"PMI_PORT", "a:1"}, {"PMI_ID", "0"}})->ranks, 0);
  EXPECT_EQ(of({{"OMPI_COMM_WORLD_SIZE", "3"}, {"SLURM_STEP_NUM_TASKS", "9"}, {"SLURM_PROCID", "0"}})->ranks, 3);
  EXPECT_EQ(of({{"GRAPNEL_RUN_RANKS", "2"}})->name, "grapnel run");
  EXPECT_FALSE(of({{"SLURM_NTASKS", "9"}, {"SLURM_PROCID", "0"}}).has_value());
  EXPECT_EQ(of({{"SLURM_STEP_NUM_TASKS", "9"}, {"SLURM_PROCID", "0"}})->ranks, 9);
  EXPECT_FALSE(LauncherSigns({{"PMI_FD", "x"}, {"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}).offers_pmi1());
  EXPECT_FALSE(LauncherSigns({{"PMI_FD", "9999"}, {"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}).offers_pmi1());
  EXPECT_FALSE(LauncherSigns({{"PMIX_NAMESPACE", "n"}, {"PMIX_RANK", "0"}}).offers_pmix());
}

}  // namespace
}  // namespace grapnel::launch
