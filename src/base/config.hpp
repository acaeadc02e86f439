// The one table of settings: every GRAPNEL_ variable with its meaning, its default and the value in force.
//
// `Config::from_environment` reads them once, at start; a value that cannot be read is an error that names the
// variable, what it got and what it takes. `grapnel info` prints `Config::rows()`. A setting that is not in this table
// does not exist.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "grapnel/status.hpp"

namespace grapnel::base {

enum class ProgressMode { poll, event, adaptive };
enum class TransportKind { automatic, ucx, local, sim };
enum class FenceKind { serial, overlapped };
enum class BarrierKind { automatic, serial, few, clean, exchange, direct, gather };
enum class LockKind { server_queue, ticket, armci_hybrid, test_and_set, mcs, mcs_by_cas, cohort, reader_writer };

struct Config {
  int nodes = 0;                                   ///< virtual nodes per machine; 0 = the machine is one node
  ProgressMode progress = ProgressMode::adaptive;  ///< how a node's server waits
  TransportKind transport = TransportKind::automatic;
  FenceKind fence = FenceKind::overlapped;
  BarrierKind barrier = BarrierKind::automatic;
  std::uint32_t barrier_fanout = 2;                ///< messages of a dissemination's round, plus one
  LockKind lock = LockKind::cohort;                ///< of locks that are created without a kind
  std::uint64_t lock_backoff_ns = 2'000;           ///< first pause of locks that try again
  std::uint64_t lock_backoff_most_ns = 1'000'000;  ///< and the longest
  std::uint32_t fence_window = 16;                 ///< fence requests in flight at once
  std::uint64_t spin_ns = 80'000;                  ///< a waiting rank spins at least so long; servers half
  std::size_t chunk_bytes = 64 * 1024;             ///< data in one message at most
  std::size_t bulk_bytes = 256 * 1024;             ///< contiguous puts and gets at least this long go in bulk
  std::size_t window_bytes = 1024 * 1024;          ///< unacknowledged request and reply bytes of one origin at one node
  std::size_t pool_bytes = std::size_t{1} << 38;   ///< addresses set aside for segments (not memory)
  bool native_rma = true;                          ///< use the transport's own put and get where hardware does them
  std::size_t native_row_bytes = 2048;             ///< strided rows at least this long go native
  std::uint64_t heartbeat_ms = 1000;               ///< between two heartbeats of neighbouring servers; 0: none
  std::uint64_t connect_ms = 10'000;               ///< for a connection to be accepted; 0: for ever
  bool stats = false;                              ///< print the operation table at the end
  std::string log = "warn";
  LogFormat log_format = LogFormat::plain;
  std::uint32_t watchdog_s = 0;  ///< a wait that is longer is reported; 0: none is
  bool backtrace = false;        ///< on a crash
  std::string status_signal;     ///< after which a rank reports; empty: none

  /// `lookup` answers a variable's text, or null; the default reads the process environment.
  static Result<Config> from_environment(const std::function<const char*(const char*)>& lookup = {});

  struct Row {
    std::string variable, meaning, takes, standard, value;
  };
  std::vector<Row> rows() const;

  /// The settings by which ranks work together, as "NAME=value NAME=value …": a job whose ranks have them differently
  /// would hang.
  std::string alike() const;
};

}  // namespace grapnel::base
