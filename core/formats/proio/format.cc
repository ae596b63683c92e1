#include "core/formats/proio/format.h"

#include <memory>

namespace recordfs::proio {
namespace {

class EmptyStream final : public Container {
 public:
  std::string_view format() const override { return kFormat.name; }
  Result<Step> scan(ChunkKey) const override { return Step{}; }
  Result<std::shared_ptr<const Chunk>> decode(const ChunkInfo& chunk) const override {
    return Error{Code::kNotFound, chunk.begin, "an empty container has no chunks"};
  }
};

Result<int> probe(const Source& source, std::string_view file_name, ProbeDepth) {
  return source.size() == 0 && file_name.ends_with(".proio") ? 1 : 0;
}

Result<std::unique_ptr<Container>> open(std::shared_ptr<const Source> source, const Limits&) {
  if (source->size() != 0) return Error{Code::kNoContainer, 0, "only empty proio streams are read"};
  return std::unique_ptr<Container>(std::make_unique<EmptyStream>());
}

}  // namespace

const Format kFormat = {.name = "proio", .probe = probe, .open = open};

}  // namespace recordfs::proio
