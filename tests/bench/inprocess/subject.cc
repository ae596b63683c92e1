#include "tests/bench/inprocess/subject.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "core/base/read_window.h"
#include "core/formats/registry.h"
#include "core/store/scanner.h"

namespace recordfs::bench {
namespace {

std::string_view form_of(std::string_view name) { return name.substr(0, name.find('.')); }

Kind kind_of(std::string_view name) {
  const std::size_t dot = name.find('.');
  return dot == std::string_view::npos ? Kind::kLines : kind_named(name.substr(dot + 1)).value_or(Kind::kLines);
}

}  // namespace

void give_up(const std::string& what, const Error& why) {
  std::fprintf(stderr, "bench_inprocess: %s: %s\n", what.c_str(), why.detail.c_str());
  std::exit(1);
}

Subject::Subject(std::string form, std::string path) : name_(std::move(form)), path_(std::move(path)) {}

Opened Subject::open() const {
  auto file = FileSource::open(path_);
  if (!file) give_up(path_, file.error());
  const auto source = std::make_shared<const WindowedSource>(*file);
  auto container = open_container({}, source, path_, Limits{});
  if (!container) give_up(path_, container.error());
  return {source, std::move(*container)};
}

std::vector<ChunkInfo> Subject::chunks(const Container& container) const {
  std::vector<ChunkInfo> found;
  Scanner scanner(container, std::filesystem::file_size(path_), ScanDetail::kSizes);
  while (!scanner.at_end() && scanner.totals().bytes < kSampleBytes) {
    if (auto stepped = scanner.step({}); !stepped) give_up(path_, stepped.error());
    if (scanner.chunk() && scanner.chunk()->chunk.records.value_or(1) != 0) found.push_back(scanner.chunk()->chunk);
  }
  return found;
}

const std::vector<PackedChunk>& Subject::packed_chunks() {
  if (!packed_.empty()) return packed_;
  const Form* form = form_named(form_of(name_));
  if (form == nullptr) give_up(name_, {.code = Code::kNotFound, .detail = "no such form"});
  const auto writer = form->writer();
  writer->keep_chunks();
  const std::uint64_t enough = std::min(kSampleBytes, 4 * std::uint64_t{std::filesystem::file_size(path_)});
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; bytes < enough; ++i) {
    std::string next = record(kind_of(name_), i);
    bytes += next.size();
    writer->add(std::move(next));
    (void)writer->take(false);
  }
  (void)writer->take(true);
  return packed_ = writer->take_chunks();
}

}  // namespace recordfs::bench
