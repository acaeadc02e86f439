// A line-wise parser; every complaint carries the line it is about.
// SPDX-License-Identifier: Apache-2.0
#include "matrix_market.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace lu {

namespace {

/// A dense copy of more rows fits nowhere; a size line beyond it is damage, not a matrix.
constexpr std::int64_t kMaxRows = 1'000'000;

enum class Shape { coordinate, array };
enum class Field { real, integer, pattern };
enum class Symmetry { general, symmetric, skew };

/// Ends the parse from any depth; caught in `read_matrix_market` and nowhere else.
struct Failure {
  std::string message;
};

/// An element as it stands in the file, and where.
struct Located {
  Entry entry;
  std::int64_t line = 0;
};

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::string lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

class Parser {
 public:
  Parser(std::istream& input, const std::string& name) : input_(input), name_(name) {}

  SparseMatrix parse() {
    read_banner();
    SparseMatrix matrix;
    if (shape_ == Shape::coordinate) {
      read_coordinates(matrix);
    } else {
      read_array(matrix);
    }
    if (next_content()) fail("more lines than the size line announced");
    if (input_.bad()) fail("reading failed");
    take(matrix);
    return matrix;
  }

 private:
  template <typename... Values>
  [[noreturn]] void fail(fmt::format_string<Values...> text, Values&&... values) {
    fail_at(line_number_, fmt::format(text, std::forward<Values>(values)...));
  }
  [[noreturn]] void fail_at(std::int64_t line, const std::string& text) {
    throw Failure{fmt::format("{}:{}: {}", name_, line, text)};
  }

  bool next_line() {
    if (!std::getline(input_, line_)) return false;
    ++line_number_;
    if (!line_.empty() && line_.back() == '\r') line_.pop_back();
    return true;
  }

  /// Advances to the next line that is neither empty nor a comment, and cuts it into words.
  bool next_content() {
    while (next_line()) {
      if (!line_.empty() && line_[0] == '%') continue;
      words_ = words_of(line_);
      if (!words_.empty()) return true;
    }
    return false;
  }

  void read_banner() {
    if (!next_line()) {
      line_number_ = 1;
      fail("the file is empty");
    }
    const auto words = words_of(lower(line_));
    if (words.size() != 5 || words[0] != "%%matrixmarket" || words[1] != "matrix") {
      fail("not a Matrix Market file: the first line must read '%%MatrixMarket matrix <format> <field> <symmetry>'");
    }
    if (words[2] != "coordinate" && words[2] != "array") {
      fail("format '{}' is unknown: coordinate or array is expected", words[2]);
    }
    shape_ = words[2] == "coordinate" ? Shape::coordinate : Shape::array;
    read_field(words[3]);
    read_symmetry(words[4]);
    if (shape_ == Shape::array && field_ == Field::pattern) fail("an array cannot have the field 'pattern'");
    if (field_ == Field::pattern && symmetry_ == Symmetry::skew) fail("a pattern cannot be skew-symmetric");
  }

  void read_field(const std::string& word) {
    if (word == "real" || word == "double") {
      field_ = Field::real;
    } else if (word == "integer") {
      field_ = Field::integer;
    } else if (word == "pattern") {
      field_ = Field::pattern;
    } else {
      fail("field '{}' is not supported: real, integer or pattern is expected", word);
    }
  }

  void read_symmetry(const std::string& word) {
    if (word == "general") {
      symmetry_ = Symmetry::general;
    } else if (word == "symmetric") {
      symmetry_ = Symmetry::symmetric;
    } else if (word == "skew-symmetric") {
      symmetry_ = Symmetry::skew;
    } else {
      fail("symmetry '{}' is not supported: general, symmetric or skew-symmetric is expected", word);
    }
  }

  /// The number behind a plus, which from_chars does not take. "+-4" stays as it is, and is refused.
  static const char* begin_of(const std::string& word) {
    return word.data() + (word[0] == '+' && word[1] != '-' ? 1 : 0);
  }

  std::int64_t whole(const std::string& word, const char* what) {
    std::int64_t value = 0;
    const char* end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(begin_of(word), end, value);
    if (error != std::errc{} || stop != end) fail("{} '{}' is not an integer", what, word);
    return value;
  }

  double number(const std::string& word) {
    if (field_ == Field::integer) return static_cast<double>(whole(word, "value"));
    double value = 0;
    const char* end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(begin_of(word), end, value);
    if (error != std::errc{} || stop != end) fail("value '{}' is not a number that a double can hold", word);
    if (!std::isfinite(value)) fail("value '{}' is not finite", word);
    return value;
  }

  /// Rows, columns and, for coordinates, the number of elements.
  std::int64_t read_sizes(SparseMatrix& matrix) {
    const std::size_t expected = shape_ == Shape::coordinate ? 3 : 2;
    if (!next_content()) fail("the file ends before its size line");
    if (words_.size() != expected) fail("the size line must have {} numbers and has {}", expected, words_.size());
    const std::int64_t rows = whole(words_[0], "number of rows");
    const std::int64_t columns = whole(words_[1], "number of columns");
    if (rows != columns) fail("the matrix is {} x {}: only a square one can be factored", rows, columns);
    if (rows < 1 || rows > kMaxRows) fail("{} rows: 1 to {} are supported", rows, kMaxRows);
    matrix.n = rows;
    if (expected == 2) return 0;
    const std::int64_t count = whole(words_[2], "number of elements");
    if (count < 0 || count > rows * columns) fail("{} elements cannot be in a {} x {} matrix", count, rows, columns);
    return count;
  }

  void read_coordinates(SparseMatrix& matrix) {
    const std::int64_t count = read_sizes(matrix);
    const std::size_t expected = field_ == Field::pattern ? 2 : 3;
    for (std::int64_t i = 0; i < count; ++i) {
      if (!next_content()) fail("the file ends after {} of {} elements", i, count);
      if (words_.size() != expected) fail("an element has {} words here, not {}", words_.size(), expected);
      const std::int64_t row = whole(words_[0], "row");
      const std::int64_t column = whole(words_[1], "column");
      if (row < 1 || row > matrix.n) fail("row {} is outside 1..{}", row, matrix.n);
      if (column < 1 || column > matrix.n) fail("column {} is outside 1..{}", column, matrix.n);
      add(row - 1, column - 1, field_ == Field::pattern ? 1.0 : number(words_[2]));
    }
  }

  void read_array(SparseMatrix& matrix) {
    read_sizes(matrix);
    for (std::int64_t column = 0; column < matrix.n; ++column) {
      const std::int64_t first = symmetry_ == Symmetry::general ? 0 : symmetry_ == Symmetry::skew ? column + 1 : column;
      for (std::int64_t row = first; row < matrix.n; ++row) {
        if (!next_content()) fail("the file ends before element ({}, {})", row + 1, column + 1);
        if (words_.size() != 1) fail("an array has one value per line, not {}", words_.size());
        add(row, column, number(words_[0]));
      }
    }
  }

  /// Keeps the element and, in a symmetric file, its mirror image.
  void add(std::int64_t row, std::int64_t column, double value) {
    elements_.push_back({{row, column, value}, line_number_});
    if (symmetry_ == Symmetry::general) return;
    if (row < column)
      fail("({}, {}) is above the diagonal of a file that gives the lower triangle", row + 1, column + 1);
    if (row == column && symmetry_ == Symmetry::skew) fail("a skew-symmetric file must not give diagonal elements");
    if (row == column) return;
    elements_.push_back({{column, row, symmetry_ == Symmetry::skew ? -value : value}, line_number_});
  }

  void take(SparseMatrix& matrix) {
    std::stable_sort(elements_.begin(), elements_.end(), [](const Located& a, const Located& b) {
      return a.entry.column != b.entry.column ? a.entry.column < b.entry.column : a.entry.row < b.entry.row;
    });
    matrix.entries.reserve(elements_.size());
    for (std::size_t i = 0; i < elements_.size(); ++i) {
      const Entry& entry = elements_[i].entry;
      if (i > 0 && entry.row == elements_[i - 1].entry.row && entry.column == elements_[i - 1].entry.column) {
        fail_at(elements_[i].line, fmt::format("element ({}, {}) was given before, in line {}", entry.row + 1,
                                               entry.column + 1, elements_[i - 1].line));
      }
      matrix.entries.push_back(entry);
    }
  }

  std::istream& input_;
  const std::string& name_;
  std::string line_;
  std::vector<std::string> words_;
  std::int64_t line_number_ = 0;
  Shape shape_ = Shape::coordinate;
  Field field_ = Field::real;
  Symmetry symmetry_ = Symmetry::general;
  std::vector<Located> elements_;
};

}  // namespace

ReadResult read_matrix_market(std::istream& input, const std::string& name) {
  try {
    return Parser(input, name).parse();
  } catch (const Failure& failure) {
    return ReadFailure{failure.message};
  }
}

ReadResult read_matrix_market_file(const std::string& path) {
  // One can be opened, and then reads as an empty file.
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return ReadFailure{path + ": is a directory"};
  std::ifstream file(path);
  if (!file) return ReadFailure{fmt::format("{}: cannot be opened: {}", path, std::strerror(errno))};
  return read_matrix_market(file, path);
}

}  // namespace lu
