// plain_readers FORMAT FILE [cat | grep TEXT | pick OFFSET/INDEX...]: reads all records of a file, or with `pick`
// single ones of a Riegeli file.
//
// Writes the records to standard output with `cat` and `pick`, and the number of records that contain TEXT with `grep`.
// Prints records, bytes and seconds on standard error. Exit status: 0 read, 1 usage error, damage, or not supported
// here.
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <span>
#include <string_view>
#include <vector>

#include "tests/bench/plain/plain.h"

namespace recordfs::bench {
namespace {

constexpr std::size_t kPiece = 256u << 10;
constexpr std::size_t kPickedPiece = 8u << 10;

struct Reader {
  std::string_view format;
  void (*read)(Input&, Output&);
};

constexpr Reader kReaders[] = {
    {"leveldb_log", read_leveldb_log},
    {"leveldb_table", read_leveldb_table},
    {"tfrecord", read_tfrecord},
    {"riegeli", read_riegeli},
    {"array_record", read_array_record},
    {"recordio", read_recordio},
    {"proio", read_proio},
    {"bloscpack", read_bloscpack},
};

int usage() {
  std::fprintf(stderr, "plain_readers: FORMAT FILE [cat | grep TEXT | pick OFFSET/INDEX...]\nFORMAT is one of");
  for (const Reader& reader : kReaders) std::fprintf(stderr, " %s", reader.format.data());
  std::fprintf(stderr, "\n");
  return 1;
}

int run(const std::vector<const char*>& words) {
  const bool greps = words.size() == 4 && words[2] == std::string_view("grep");
  const bool cats = words.size() == 3 && words[2] == std::string_view("cat");
  const bool picks =
      words.size() > 3 && words[2] == std::string_view("pick") && words[0] == std::string_view("riegeli");
  if (words.size() != 2 && !cats && !greps && !picks) return usage();
  Output out = cats || picks ? Output::writing() : greps ? Output::searching(words[3]) : Output::counting();
  for (const Reader& reader : kReaders) {
    if (reader.format != words[0]) continue;
    const auto begun = std::chrono::steady_clock::now();
    Input in(words[1], picks ? kPickedPiece : kPiece);
    if (picks) {
      pick_riegeli(in, out, std::span(words).subspan(3));
    } else {
      reader.read(in, out);
    }
    out.flush();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    if (greps) std::printf("%" PRIu64 "\n", out.found());
    std::fprintf(stderr, "%" PRIu64 " records, %" PRIu64 " bytes, %.3f s, %.0f MB/s\n", out.records(), out.bytes(),
                 seconds, static_cast<double>(out.bytes()) / seconds / 1e6);
    return 0;
  }
  return usage();
}

}  // namespace
}  // namespace recordfs::bench

int main(int argc, char** argv) { return recordfs::bench::run({argv + 1, argv + argc}); }
