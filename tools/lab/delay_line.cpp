// The wire of a lab whose kernel has no netem: a switch between TAP devices that keeps every frame for a while.
//
//   lab-delay-line NANOSECONDS DEVICE...
//
// makes the devices, prints "ready" on stdout and runs until one of them is removed. Its caller moves
// them into the hosts' network namespaces. A frame that was read at time t is written at t + delay to the device behind
// which its destination was last heard, or to all others while that is unknown. One thread; it sleeps in ppoll, never
// spins.
//
// Invariants:
//  1. All frames are delayed equally, so the queue's order is the order of their times, and no pair of hosts sees its
//     frames out of order.
//  2. What the queue holds is bounded (kMostQueuedBytes). When it is full nothing is read, and the devices' own queues
//     drop what does not fit: as any switch does.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::size_t kMostQueuedBytes = std::size_t{256} << 20;
constexpr std::size_t kLargestFrame = 65'600;  // what a TAP device can have, with its header
constexpr std::size_t kAddressBytes = 6;
constexpr int kFramesAtOnce = 64;  // read from one device before the others, and what is due, get their turn
constexpr std::int64_t kSecond_ns = 1'000'000'000;

using Address = std::array<unsigned char, kAddressBytes>;

std::int64_t now_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * kSecond_ns + time.tv_nsec;
}

struct Frame {
  std::int64_t due_ns;
  std::size_t from;
  std::vector<char> bytes;
};

// Who was last heard behind which device.
class Neighbours {
 public:
  static constexpr std::size_t kUnknown = SIZE_MAX;

  void learn(const Frame& frame) { device_of_[address_at(frame, kAddressBytes)] = frame.from; }

  /// The device that leads to the frame's destination; kUnknown: all but its own, for a group's address too.
  [[nodiscard]] std::size_t device_for(const Frame& frame) const {
    const Address destination = address_at(frame, 0);
    if ((destination[0] & 1) != 0) return kUnknown;
    const auto found = device_of_.find(destination);
    return found == device_of_.end() ? kUnknown : found->second;
  }

 private:
  static Address address_at(const Frame& frame, std::size_t offset) {
    Address address;
    std::memcpy(address.data(), frame.bytes.data() + offset, kAddressBytes);
    return address;
  }

  std::map<Address, std::size_t> device_of_;
};

class DelayLine {
 public:
  DelayLine(std::int64_t delay_ns, const std::vector<int>& devices) : delay_ns_(delay_ns) {
    for (const int device : devices) polled_.push_back({device, POLLIN, 0});
  }

  [[nodiscard]] std::uint64_t lost() const { return lost_; }

  /// Until a device is gone. False when waiting itself failed.
  bool run() {
    for (;;) {
      if (!wait()) return false;
      for (std::size_t device = 0; device < polled_.size(); ++device) {
        if ((polled_[device].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) return true;
        if ((polled_[device].revents & POLLIN) != 0 && !take_in(device)) return true;
      }
      let_out();
    }
  }

 private:
  [[nodiscard]] bool full() const { return queued_bytes_ >= kMostQueuedBytes; }

  // For a frame, or until the first one is due.
  bool wait() {
    for (pollfd& one : polled_) one.events = full() ? 0 : POLLIN;
    timespec left{};
    if (!queue_.empty()) {
      const std::int64_t left_ns = std::max<std::int64_t>(0, queue_.front().due_ns - now_ns());
      left = {left_ns / kSecond_ns, left_ns % kSecond_ns};
    }
    return ::ppoll(polled_.data(), polled_.size(), queue_.empty() ? nullptr : &left, nullptr) >= 0 || errno == EINTR;
  }

  // False: the device is gone.
  bool take_in(std::size_t device) {
    for (int count = 0; count < kFramesAtOnce && !full(); ++count) {
      const ssize_t size = ::read(polled_[device].fd, buffer_.data(), buffer_.size());
      if (size < 0) return errno != EBADFD && errno != ENODEV;
      if (static_cast<std::size_t>(size) < 2 * kAddressBytes) continue;
      Frame frame{now_ns() + delay_ns_, device, {buffer_.begin(), buffer_.begin() + size}};
      neighbours_.learn(frame);
      queued_bytes_ += frame.bytes.size();
      queue_.push_back(std::move(frame));
    }
    return true;
  }

  void let_out() {
    while (!queue_.empty() && queue_.front().due_ns <= now_ns()) {
      const Frame& frame = queue_.front();
      const std::size_t target = neighbours_.device_for(frame);
      for (std::size_t device = 0; device < polled_.size(); ++device) {
        if (device != frame.from && (target == Neighbours::kUnknown || target == device)) put_out(device, frame);
      }
      queued_bytes_ -= frame.bytes.size();
      queue_.pop_front();
    }
  }

  // A device that is not up, or has no room, loses the frame, as a wire would.
  void put_out(std::size_t device, const Frame& frame) {
    if (::write(polled_[device].fd, frame.bytes.data(), frame.bytes.size()) < 0) ++lost_;
  }

  std::int64_t delay_ns_;
  std::vector<pollfd> polled_;
  std::deque<Frame> queue_;
  std::size_t queued_bytes_ = 0;
  std::uint64_t lost_ = 0;
  Neighbours neighbours_;
  std::vector<char> buffer_ = std::vector<char>(kLargestFrame);
};

int complain(const std::string& what) {
  fmt::print(stderr, "lab-delay-line: {}\n", what);
  return 1;
}

// A wire does not wait for a processor: what it adds to the delay while the hosts use all of them is no network's time.
// Where that is not permitted, it continues as any process.
void go_before_others() {
  const sched_param lowest{.sched_priority = 1};
  ::sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &lowest);
  ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);  // else the kernel adds up to 50 us to every wait
}

// A new TAP device, or -1 after a message.
int make_device(const char* name) {
  const int device = ::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (device < 0) {
    complain(fmt::format("cannot open /dev/net/tun: {}", std::strerror(errno)));
    return -1;
  }
  ifreq request{};
  request.ifr_flags = static_cast<short>(IFF_TAP | IFF_NO_PI | IFF_TUN_EXCL);
  std::strncpy(request.ifr_name, name, IFNAMSIZ - 1);
  if (::ioctl(device, TUNSETIFF, &request) != 0) {
    complain(fmt::format("cannot make the device {}: {}", name, std::strerror(errno)));
    ::close(device);
    return -1;
  }
  return device;
}

}  // namespace

int main(int count, char** words) {
  const std::string_view delay = count > 1 ? words[1] : "";
  std::int64_t delay_ns = -1;
  const auto [end, error] = std::from_chars(delay.data(), delay.data() + delay.size(), delay_ns);
  if (count < 4 || error != std::errc{} || end != delay.data() + delay.size() || delay_ns < 0) {
    complain("usage: lab-delay-line NANOSECONDS DEVICE DEVICE...");
    return 2;
  }
  go_before_others();
  std::vector<int> devices;
  for (int i = 2; i < count; ++i) {
    devices.push_back(make_device(words[i]));
    if (devices.back() < 0) return 1;
  }
  fmt::print("ready\n");
  std::fflush(stdout);
  ::close(STDOUT_FILENO);
  DelayLine line(delay_ns, devices);
  if (!line.run()) return complain(fmt::format("cannot wait: {}", std::strerror(errno)));
  fmt::print(stderr, "lab-delay-line: a device is gone; {} frames found no room in all\n", line.lost());
  return 0;
}
