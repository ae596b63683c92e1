// make_data FORM RECORDS FILE [--kind=lines|tiny|large|events] [--print-records]: writes a container of RECORDS
// records.
//
// With --print-records also writes them to stdout, one per line, for comparison. Holds little of the file in memory,
// except for bloscpack. Exit status: 0 written, 1 usage error or not written.
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/bench/data/form.h"
#include "tests/bench/data/records.h"

namespace recordfs::bench {
namespace {

struct Order {
  const Form* form = nullptr;
  std::uint64_t records = 0;
  std::string file;
  Kind kind = Kind::kLines;
  bool print = false;
};

int fail(const std::string& reason) {
  std::fprintf(stderr, "make_data: %s\n", reason.c_str());
  return 1;
}

int usage() {
  std::string names;
  for (const Form& form : forms()) (names += ' ') += form.name;
  return fail("FORM RECORDS FILE [--kind=lines|tiny|large|events] [--print-records]\nFORM is one of" + names +
              "; riegeli-transposed wants events");
}

bool take_option(std::string_view word, Order& order) {
  constexpr std::string_view kKind = "--kind=";
  if (word == "--print-records") return order.print = true;
  if (!word.starts_with(kKind)) return false;
  const auto kind = kind_named(word.substr(kKind.size()));
  order.kind = kind.value_or(order.kind);
  return kind.has_value();
}

bool parse(const std::vector<std::string>& words, Order& order) {
  if (words.size() < 3) return false;
  order.form = form_named(words[0]);
  const char* end = words[1].data() + words[1].size();
  if (order.form == nullptr || std::from_chars(words[1].data(), end, order.records).ptr != end) return false;
  order.file = words[2];
  for (std::size_t i = 3; i < words.size(); ++i) {
    if (!take_option(words[i], order)) return false;
  }
  return true;
}

bool put(const std::string& bytes, std::FILE* out) {
  return std::fwrite(bytes.data(), 1, bytes.size(), out) == bytes.size();
}

bool write_records(const Order& order, std::FILE* out) {
  const auto writer = order.form->writer();
  for (std::uint64_t i = 0; i < order.records; ++i) {
    std::string bytes = record(order.kind, i);
    if (order.print && !put(bytes + '\n', stdout)) return false;
    writer->add(std::move(bytes));
    if (!put(writer->take(false), out)) return false;
  }
  return put(writer->take(true), out);
}

int run(const std::vector<std::string>& words) {
  Order order;
  if (!parse(words, order)) return usage();
  std::FILE* out = std::fopen(order.file.c_str(), "wbe");
  if (out == nullptr) return fail(order.file + ": " + std::strerror(errno));
  const bool written = write_records(order, out);
  if (std::fclose(out) != 0 || !written) return fail(order.file + ": not written whole");
  return 0;
}

}  // namespace
}  // namespace recordfs::bench

int main(int argc, char** argv) { return recordfs::bench::run({argv + 1, argv + argc}); }
