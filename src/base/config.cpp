#include "base/config.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/quantity.hpp"
#include "base/units.hpp"

namespace grapnel::base {
namespace {

// One row of the table: the texts, and how the member is read and shown.
struct Variable {
  const char* name;
  const char* meaning;
  const char* takes;
  std::function<bool(Config&, std::string_view)> parse;
  std::function<std::string(const Config&)> show;
  bool alike = false;  ///< ranks of one job that have it differently would wait for each other
};

Variable alike_in_all_ranks(Variable variable) {
  variable.alike = true;
  return variable;
}

// `takes` names the limits; what units the number may have follows from the name.
template <typename Integer>
Variable integer(const char* name, const char* meaning, const char* takes, Integer Config::*member, Integer low,
                 std::type_identity_t<Integer> high) {
  return {name, meaning, takes,
          [=](Config& config, std::string_view text) {
            const auto value = parse_quantity(text, unit_of(name));
            if (!value || std::cmp_less(*value, low) || std::cmp_greater(*value, high)) return false;
            config.*member = static_cast<Integer>(*value);
            return true;
          },
          [=](const Config& config) { return std::to_string(config.*member); }};
}

template <typename Enum>
struct Choice {
  const char* text;
  Enum value;
};

template <typename Enum>
Variable choice(const char* name, const char* meaning, const char* takes, Enum Config::*member,
                std::vector<Choice<Enum>> choices) {
  return {name, meaning, takes,
          [=](Config& config, std::string_view text) {
            for (const auto& option : choices) {
              if (text == option.text) {
                config.*member = option.value;
                return true;
              }
            }
            return false;
          },
          [=](const Config& config) {
            for (const auto& option : choices) {
              if (config.*member == option.value) return std::string(option.text);
            }
            return std::string("?");
          }};
}

Variable flag(const char* name, const char* meaning, bool Config::*member) {
  return choice<bool>(name, meaning, "0|1", member, {{"0", false}, {"1", true}});
}

Variable status_signal() {
  return {"GRAPNEL_STATUS_SIGNAL", "after this signal a rank prints what each rank waits for (docs/debugging.md)",
          "USR1|USR2|none",
          [](Config& config, std::string_view text) {
            if (text != "USR1" && text != "USR2" && text != "none") return false;
            config.status_signal = text == "none" ? std::string_view() : text;
            return true;
          },
          [](const Config& config) { return config.status_signal.empty() ? "none" : config.status_signal; }};
}

Variable log_level() {
  return {"GRAPNEL_LOG", "what is written to stderr", "error|warn|info|debug",
          [](Config& config, std::string_view text) {
            for (const char* level : {"error", "warn", "info", "debug"}) {
              if (text == level) {
                config.log = text;
                return true;
              }
            }
            return false;
          },
          [](const Config& config) { return config.log; }};
}

// After the start it is what was chosen, so that ranks that chose differently find out.
Variable transport_variable() {
  return alike_in_all_ranks(choice<TransportKind>(
      "GRAPNEL_TRANSPORT",
      "what carries messages between nodes; auto: local between nodes of one machine, unless UCX_TLS is set (sim: in "
      "the project's tests only)",
      "auto|ucx|local|sim", &Config::transport,
      {{"auto", TransportKind::automatic},
       {"ucx", TransportKind::ucx},
       {"local", TransportKind::local},
       {"sim", TransportKind::sim}}));
}

std::vector<Variable> nodes_and_synchronization() {
  return {
      integer("GRAPNEL_NODES", "virtual nodes per machine (0: the machine is one node)", "0..4096", &Config::nodes, 0,
              4096),
      choice<ProgressMode>(
          "GRAPNEL_PROGRESS", "how a node's server waits for messages", "poll|event|adaptive", &Config::progress,
          {{"poll", ProgressMode::poll}, {"event", ProgressMode::event}, {"adaptive", ProgressMode::adaptive}}),
      transport_variable(),
      choice<FenceKind>("GRAPNEL_FENCE", "how a fence asks the dirty nodes", "serial|overlapped", &Config::fence,
                        {{"serial", FenceKind::serial}, {"overlapped", FenceKind::overlapped}}),
      alike_in_all_ranks(choice<BarrierKind>("GRAPNEL_BARRIER",
                                             "how a barrier completes the writes before it (docs/barrier.md)",
                                             "auto|serial|few|clean|exchange|direct|gather", &Config::barrier,
                                             {{"auto", BarrierKind::automatic},
                                              {"serial", BarrierKind::serial},
                                              {"few", BarrierKind::few},
                                              {"clean", BarrierKind::clean},
                                              {"exchange", BarrierKind::exchange},
                                              {"direct", BarrierKind::direct},
                                              {"gather", BarrierKind::gather}})),
      alike_in_all_ranks(integer<std::uint32_t>("GRAPNEL_BARRIER_FANOUT",
                                                "a round of a barrier reaches this many times the nodes", "2..64",
                                                &Config::barrier_fanout, 2, 64)),
      alike_in_all_ranks(choice<LockKind>(
          "GRAPNEL_LOCK", "the algorithm of locks that are created without a kind",
          "server_queue|ticket|armci_hybrid|test_and_set|mcs|mcs_by_cas|cohort|reader_writer", &Config::lock,
          {{"server_queue", LockKind::server_queue},
           {"ticket", LockKind::ticket},
           {"armci_hybrid", LockKind::armci_hybrid},
           {"test_and_set", LockKind::test_and_set},
           {"mcs", LockKind::mcs},
           {"mcs_by_cas", LockKind::mcs_by_cas},
           {"cohort", LockKind::cohort},
           {"reader_writer", LockKind::reader_writer}})),
      integer<std::uint64_t>("GRAPNEL_LOCK_BACKOFF_NS", "first pause of a lock that tries again", "100..1000000000",
                             &Config::lock_backoff_ns, 100, kSecond_ns),
      integer<std::uint64_t>("GRAPNEL_LOCK_BACKOFF_MOST_NS", "longest pause of a lock that tries again",
                             "100..1000000000", &Config::lock_backoff_most_ns, 100, kSecond_ns),
      // A barrier chooses its plan by it.
      alike_in_all_ranks(integer<std::uint32_t>("GRAPNEL_FENCE_WINDOW", "fence requests in flight at once (overlapped)",
                                                "1..4096", &Config::fence_window, 1, 4096)),
  };
}

std::vector<Variable> memory_and_messages() {
  return {
      integer<std::uint64_t>("GRAPNEL_SPIN_NS", "how long a waiting rank spins at least before it sleeps; servers half",
                             "0..1000000000", &Config::spin_ns, 0, kSecond_ns),
      integer<std::size_t>("GRAPNEL_CHUNK_BYTES", "data in one message at most", "1024..65536", &Config::chunk_bytes,
                           kKiB, 64 * kKiB),
      integer<std::size_t>("GRAPNEL_BULK_BYTES", "contiguous puts and gets at least this long go in bulk, uncopied",
                           "131073..1099511627776", &Config::bulk_bytes, 128 * kKiB + 1, std::size_t{1} << 40),
      integer<std::size_t>("GRAPNEL_WINDOW_BYTES", "unacknowledged bytes of one rank at one node's server",
                           "131072..1073741824", &Config::window_bytes, 128 * kKiB, kGiB),
      integer<std::size_t>("GRAPNEL_POOL_BYTES", "addresses set aside for segments (not memory)",
                           "16777216..70368744177664", &Config::pool_bytes, 16 * kMiB, std::size_t{1} << 46),
      flag("GRAPNEL_NATIVE_RMA", "use the transport's own put and get where hardware does them", &Config::native_rma),
      integer<std::size_t>("GRAPNEL_NATIVE_ROW_BYTES", "strided rows at least this long go native, shorter are packed",
                           "1..1073741824", &Config::native_row_bytes, 1, kGiB),
      alike_in_all_ranks(integer<std::uint64_t>(
          "GRAPNEL_HEARTBEAT_MS", "between servers; a host that is silent for six ends the job (0: no heartbeats)",
          "0..60000", &Config::heartbeat_ms, 0, 60'000)),
      integer<std::uint64_t>("GRAPNEL_CONNECT_MS", "a connection that is not accepted in time ends the job (0: never)",
                             "0..3600000", &Config::connect_ms, 0, 3'600'000),
  };
}

std::vector<Variable> reports() {
  return {
      alike_in_all_ranks(flag("GRAPNEL_STATS", "print the operation table when the job ends", &Config::stats)),
      log_level(),
      choice<LogFormat>("GRAPNEL_LOG_FORMAT", "what stands before a log line (docs/debugging.md)", "plain|time|full",
                        &Config::log_format,
                        {{"plain", LogFormat::plain}, {"time", LogFormat::time}, {"full", LogFormat::full}}),
      integer<std::uint32_t>("GRAPNEL_WATCHDOG_S", "a wait that is longer is reported, once (0: none is)", "0..1000000",
                             &Config::watchdog_s, 0, 1'000'000),
      flag("GRAPNEL_BACKTRACE", "a rank that crashes prints a backtrace", &Config::backtrace),
      status_signal(),
  };
}

const std::vector<Variable>& table() {
  static const std::vector<Variable> variables = [] {
    std::vector<Variable> all = nodes_and_synchronization();
    for (auto&& part : {memory_and_messages(), reports()}) all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return variables;
}

std::string takes(const Variable& variable) {
  const std::string_view units = units_taken(unit_of(variable.name));
  return units.empty() ? variable.takes : fmt::format("{} ({})", variable.takes, units);
}

}  // namespace

Result<Config> Config::from_environment(const std::function<const char*(const char*)>& lookup) {
  Config config;
  for (const Variable& variable : table()) {
    const char* text = lookup ? lookup(variable.name) : std::getenv(variable.name);
    if (text == nullptr) continue;
    if (!variable.parse(config, text)) {
      return Status(Code::invalid_argument,
                    fmt::format("{}=\"{}\" cannot be used; it takes {}", variable.name, text, takes(variable)));
    }
  }
  return config;
}

std::vector<Config::Row> Config::rows() const {
  const Config standard;
  std::vector<Row> rows;
  for (const Variable& variable : table()) {
    rows.push_back({variable.name, variable.meaning, takes(variable), variable.show(standard), variable.show(*this)});
  }
  return rows;
}

std::string Config::alike() const {
  std::string settings;
  for (const Variable& variable : table()) {
    if (!variable.alike) continue;
    settings += fmt::format("{}{}={}", settings.empty() ? "" : " ", variable.name, variable.show(*this));
  }
  return settings;
}

}  // namespace grapnel::base
