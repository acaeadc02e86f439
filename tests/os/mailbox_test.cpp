// SPDX-License-Identifier: Apache-2.0
#include "os/mailbox.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "base/units.hpp"
#include "os/process.hpp"
#include "os/shared_memory.hpp"

namespace grapnel::os {
namespace {

using base::kMillisecond_ns;
using base::kSecond_ns;

ByteView text(std::string_view words) { return std::as_bytes(std::span(words)); }
std::string words_of(const Letter& letter) {
  return {reinterpret_cast<const char*>(letter.bytes.data()), letter.bytes.size()};
}

TEST(Mailbox, CarriesADescriptorBetweenProcesses) {
  const std::string name = test::unique_name("box");
  auto box = Mailbox::open(name);
  ASSERT_TRUE(box.ok()) << box.status().to_string();
  test::Child child([&] {
    auto own = Mailbox::open(name + "-child");
    auto file = create_shared_file("mailbox_test", 4096);
    auto mapping = Mapping::create(*file, 4096);
    std::strcpy(static_cast<char*>(mapping->address()), "written by the child");
    return own->send(name, text("here it is"), &*file, kSecond_ns).ok();
  });
  auto letter = box->receive(10 * kSecond_ns);
  ASSERT_TRUE(letter.ok()) << letter.status().to_string();
  EXPECT_EQ(words_of(*letter), "here it is");
  EXPECT_EQ(letter->sender_pid, child.pid());
  EXPECT_EQ(child.wait(), 0);
  ASSERT_TRUE(letter->descriptor.valid());
  EXPECT_NE(::fcntl(letter->descriptor.number(), F_GETFD) & FD_CLOEXEC, 0);
  auto mapping = Mapping::create(letter->descriptor, 4096);
  ASSERT_TRUE(mapping.ok());
  EXPECT_STREQ(static_cast<char*>(mapping->address()), "written by the child");
}

TEST(Mailbox, FullBoxIsTriedAgainUntilItEmpties) {
  constexpr int kLetters = 500;  // far more than a queue holds
  const std::string name = test::unique_name("box");
  auto box = Mailbox::open(name);
  ASSERT_TRUE(box.ok());
  test::Child child([&] {
    auto own = Mailbox::open(name + "-child");
    for (int i = 0; i < kLetters; ++i) {
      if (!own->send(name, text(std::to_string(i)), nullptr, 10 * kSecond_ns).ok()) return false;
    }
    return true;
  });
  for (int i = 0; i < kLetters; ++i) {
    auto letter = box->receive(10 * kSecond_ns);
    ASSERT_TRUE(letter.ok()) << letter.status().to_string();
    ASSERT_EQ(words_of(*letter), std::to_string(i));
    EXPECT_FALSE(letter->descriptor.valid());
  }
  EXPECT_EQ(child.wait(), 0);
}

TEST(Mailbox, FullBoxThatNobodyEmptiesTimesOut) {
  auto sender = Mailbox::open(test::unique_name("sender"));
  const std::string name = test::unique_name("box");
  auto box = Mailbox::open(name);
  ASSERT_TRUE(sender.ok() && box.ok());
  const std::size_t before = test::open_descriptors();
  Status status;
  for (int i = 0; i < 100'000 && status.ok(); ++i)
    status = sender->send(name, text("x"), nullptr, 20 * kMillisecond_ns);
  EXPECT_EQ(status.code(), Code::timed_out) << status.to_string();
  EXPECT_EQ(status.message().find(name), std::string::npos) << "a name is a secret";
  EXPECT_EQ(test::open_descriptors(), before);
}

TEST(Mailbox, AnswersForBoxesThatAreNotThere) {
  const std::string name = test::unique_name("box");
  auto box = Mailbox::open(name);
  ASSERT_TRUE(box.ok());
  EXPECT_EQ(box->send(name + "-nobody", text("x"), nullptr, kSecond_ns).code(), Code::peer_dead);
  EXPECT_EQ(Mailbox::open(name).status().code(), Code::unavailable);
  EXPECT_EQ(Mailbox::open("").status().code(), Code::invalid_argument);
  EXPECT_EQ(Mailbox::open(std::string(kMaxSocketNameBytes + 1, 'x')).status().code(), Code::invalid_argument);
  EXPECT_TRUE(Mailbox::open(name + std::string(kMaxSocketNameBytes - name.size(), 'x')).ok());
  EXPECT_EQ(box->send(name, {}, nullptr, 0).code(), Code::invalid_argument);
  EXPECT_EQ(box->send(name, Bytes(kMaxLetterBytes + 1), nullptr, 0).code(), Code::invalid_argument);
  EXPECT_TRUE(box->send(name, Bytes(kMaxLetterBytes), nullptr, 0).ok()) << "also to oneself";
  EXPECT_EQ(box->receive(0)->bytes.size(), kMaxLetterBytes);
  EXPECT_EQ(box->receive(0).status().code(), Code::timed_out);
  EXPECT_EQ(box->receive(5 * kMillisecond_ns).status().code(), Code::timed_out);
}

TEST(Mailbox, BoxOfADeadProcessIsGone) {
  const std::string name = test::unique_name("box");
  auto own = Mailbox::open(test::unique_name("own"));
  auto ready = Mailbox::open(name + "-ready");
  test::Child child([&] {
    auto box = Mailbox::open(name);
    if (!box->send(name + "-ready", text("x"), nullptr, kSecond_ns).ok()) return false;
    ::pause();
    return false;
  });
  ASSERT_TRUE(ready->receive(10 * kSecond_ns).ok());
  EXPECT_TRUE(own->send(name, text("x"), nullptr, kSecond_ns).ok());
  ::kill(child.pid(), SIGKILL);
  EXPECT_EQ(child.wait(), -SIGKILL);
  EXPECT_EQ(own->send(name, text("x"), nullptr, kSecond_ns).code(), Code::peer_dead);
}

TEST(Mailbox, DropsLettersOfOtherUsersAndTheirDescriptors) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can play another user";
  const std::string name = test::unique_name("box");
  auto box = Mailbox::open(name);
  const std::size_t before = test::open_descriptors();
  test::Child stranger([&] {
    auto file = create_shared_file("mailbox_test", 4096);
    if (::setuid(65534) != 0) return false;
    auto own = Mailbox::open(name + "-stranger");
    return own->send(name, text("from a stranger"), &*file, kSecond_ns).ok();
  });
  EXPECT_EQ(stranger.wait(), 0);
  EXPECT_EQ(box->receive(100 * kMillisecond_ns).status().code(), Code::timed_out);
  EXPECT_EQ(test::open_descriptors(), before);
}

TEST(Mailbox, DropsLettersWithSeveralDescriptors) {
  const std::string name = test::unique_name("box");
  auto box = Mailbox::open(name);
  const std::size_t before = test::open_descriptors();
  for (const int count : {2, 8, 100}) {
    const int socket = ::socket(AF_UNIX, SOCK_DGRAM, 0);
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::memcpy(to.sun_path + 1, name.data(), name.size());
    const std::vector<int> numbers(static_cast<std::size_t>(count), 0);
    std::vector<char> control(CMSG_SPACE(numbers.size() * sizeof(int)));
    char byte = 'x';
    iovec part{&byte, 1};
    msghdr message{&to,
                   static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size()),
                   &part,
                   1,
                   control.data(),
                   control.size(),
                   0};
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    *header = {CMSG_LEN(numbers.size() * sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    std::memcpy(CMSG_DATA(header), numbers.data(), numbers.size() * sizeof(int));
    ASSERT_EQ(::sendmsg(socket, &message, 0), 1) << std::strerror(errno);
    ::close(socket);
    EXPECT_EQ(box->receive(20 * kMillisecond_ns).status().code(), Code::timed_out) << count;
    EXPECT_EQ(test::open_descriptors(), before) << count;
  }
}

}  // namespace
}  // namespace grapnel::os
