// Line by line: keys first, then one city per line.
// SPDX-License-Identifier: Apache-2.0
#include "tsplib.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

namespace tsp {

namespace {

std::string trimmed(const std::string& text) {
  const char* const blanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

class Reader {
 public:
  Reader(std::istream& stream, const std::string& name) : stream_(stream), name_(name) {}

  ReadResult read() {
    if (!read_keys() || !read_cities()) return {{}, fmt::format("{}:{}: {}", name_, line_, why_)};
    return {cities_, {}};
  }

 private:
  bool wrong(std::string why) {
    why_ = std::move(why);
    return false;
  }

  bool next_line(std::string& text) {
    while (std::getline(stream_, text)) {
      ++line_;
      text = trimmed(text);
      if (!text.empty()) return true;
    }
    return false;
  }

  bool read_keys() {
    for (std::string text; next_line(text);) {
      const std::size_t colon = text.find(':');
      const std::string key = trimmed(text.substr(0, colon));
      const std::string value = colon == std::string::npos ? "" : trimmed(text.substr(colon + 1));
      if (key == "NODE_COORD_SECTION") return check_keys();
      if (!take_key(key, value)) return false;
    }
    return wrong("the file has no NODE_COORD_SECTION");
  }

  bool take_key(const std::string& key, const std::string& value) {
    if (key == "TYPE" && value != "TSP") return wrong(fmt::format("TYPE {}: only TSP is read", value));
    if (key == "EDGE_WEIGHT_TYPE") weights_ = value;
    if (key != "DIMENSION") return true;
    std::istringstream number(value);
    if (!(number >> count_) || !number.eof() || count_ < 2 || count_ > static_cast<long>(kMostCities)) {
      return wrong(fmt::format("DIMENSION {}: 2 to {} cities can be solved", value, kMostCities));
    }
    return true;
  }

  bool check_keys() {
    if (weights_ != "EUC_2D") return wrong(fmt::format("EDGE_WEIGHT_TYPE {}: only EUC_2D is read", weights_));
    return count_ != 0 || wrong("DIMENSION is missing");
  }

  bool read_cities() {
    cities_.resize(static_cast<std::size_t>(count_));
    std::vector<bool> given(cities_.size());
    for (std::size_t done = 0; done < cities_.size(); ++done) {
      std::string text;
      if (!next_line(text)) return wrong(fmt::format("{} of {} cities are missing", cities_.size() - done, count_));
      std::istringstream fields(text);
      long number = 0;
      City city;
      if (!(fields >> number >> city.x >> city.y) || !(fields >> std::ws).eof()) {
        return wrong(fmt::format("'{}' is no number of a city and two coordinates", text));
      }
      if (number < 1 || number > count_) return wrong(fmt::format("city {} of {}", number, count_));
      if (given[static_cast<std::size_t>(number) - 1]) return wrong(fmt::format("city {} appears twice", number));
      if (std::fabs(city.x) > kMostCoordinate || std::fabs(city.y) > kMostCoordinate) {
        return wrong(fmt::format("a coordinate is beyond {}", kMostCoordinate));
      }
      given[static_cast<std::size_t>(number) - 1] = true;
      cities_[static_cast<std::size_t>(number) - 1] = city;
    }
    return true;
  }

  std::istream& stream_;
  std::string name_;
  std::size_t line_ = 0;
  std::string why_;
  std::string weights_ = "(none)";
  long count_ = 0;
  std::vector<City> cities_;
};

}  // namespace

ReadResult read_tsplib(std::istream& stream, const std::string& name) { return Reader(stream, name).read(); }

ReadResult read_tsplib_file(const std::string& path) {
  errno = 0;
  std::ifstream stream(path);
  if (!stream) return {{}, fmt::format("{}: cannot be opened: {}", path, std::strerror(errno))};
  return read_tsplib(stream, path);
}

}  // namespace tsp
