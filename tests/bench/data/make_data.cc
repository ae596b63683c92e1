// make_data FORM RECORDS FILE [--kind=lines|tiny|large|events|examples|wide] [--size=N] [--per-chunk=N]
// [--print-records]: writes a container of RECORDS records.
//
// --size=N makes lines of N bytes each, and --per-chunk=N chunks of N records each, for forms whose chunks are
// otherwise of 1 MiB. With --print-records also writes them to stdout, one per line, for comparison. Holds little of
// the file in memory, except for bloscpack. Exit status: 0 written, 1 usage error or not written.
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
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
  std::uint64_t size = 0;       // 0: as the kind has it
  std::uint64_t per_chunk = 0;  // 0: as the form has it
  bool print = false;
};

int fail(const std::string& reason) {
  std::fprintf(stderr, "make_data: %s\n", reason.c_str());
  return 1;
}

int usage() {
  std::string names;
  for (const Form& form : forms()) (names += ' ') += form.name;
  return fail(
      "FORM RECORDS FILE [--kind=lines|tiny|large|events|examples|wide] [--size=N] [--per-chunk=N] [--print-records]\n"
      "FORM is one of" +
      names + "; riegeli-transposed wants events, and riegeli-wide wants wide");
}

bool take_number(std::string_view text, std::uint64_t& number) {
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && parsed == end;
}

bool take_kind(std::string_view name, Kind& kind) {
  const auto named = kind_named(name);
  kind = named.value_or(kind);
  return named.has_value();
}

bool take_option(std::string_view word, Order& order) {
  if (word == "--print-records") return order.print = true;
  const std::size_t length = word.find('=') + 1;
  const std::string_view name = word.substr(0, length);
  const std::string_view value = word.substr(length);
  if (name == "--kind=") return take_kind(value, order.kind);
  if (name == "--size=") return take_number(value, order.size);
  if (name == "--per-chunk=") return take_number(value, order.per_chunk);
  return false;
}

bool parse(const std::vector<std::string>& words, Order& order) {
  if (words.size() < 3) return false;
  order.form = form_named(words[0]);
  if (order.form == nullptr || !take_number(words[1], order.records)) return false;
  order.file = words[2];
  return std::all_of(words.begin() + 3, words.end(), [&](const auto& word) { return take_option(word, order); });
}

bool put(const std::string& bytes, std::FILE* out) {
  return std::fwrite(bytes.data(), 1, bytes.size(), out) == bytes.size();
}

std::string record_of(const Order& order, std::uint64_t number) {
  return order.size > 0 ? line_of_size(order.size, number) : record(order.kind, number);
}

bool write_records(const Order& order, FormWriter& writer, std::FILE* out) {
  for (std::uint64_t i = 0; i < order.records; ++i) {
    std::string bytes = record_of(order, i);
    if (order.print && !put(bytes + '\n', stdout)) return false;
    writer.add(std::move(bytes));
    if (!put(writer.take(false), out)) return false;
  }
  return put(writer.take(true), out);
}

int run(const std::vector<std::string>& words) {
  Order order;
  if (!parse(words, order)) return usage();
  const auto writer = order.form->writer();
  if (order.per_chunk > 0 && !writer->set_records_per_chunk(order.per_chunk)) {
    return fail("--per-chunk: this form has no chunks of several records");
  }
  std::FILE* out = std::fopen(order.file.c_str(), "wbe");
  if (out == nullptr) return fail(order.file + ": " + std::strerror(errno));
  const bool written = write_records(order, *writer, out);
  if (std::fclose(out) != 0 || !written) return fail(order.file + ": not written whole");
  return 0;
}

}  // namespace
}  // namespace recordfs::bench

int main(int argc, char** argv) { return recordfs::bench::run({argv + 1, argv + argc}); }
