#include "core/formats/recordio/format.h"

#include <algorithm>
#include <array>

#include "core/formats/recordio/current/container.h"
#include "core/formats/recordio/detect.h"
#include "core/formats/recordio/legacy/container.h"

namespace recordfs::recordio {
namespace {

// Names of current and legacy files. A transformer's name may follow ".grail-rpk".
bool is_recordio_name(std::string_view name) {
  return name.ends_with(".grail-rio") || name.find(".grail-rpk") != std::string_view::npos;
}

Result<int> probe(const Source& source, std::string_view file_name, ProbeDepth depth) {
  if (source.size() == 0) return is_recordio_name(file_name) ? 1 : 0;
  auto detected = detect_by_head(source);
  if (detected && detected->bits == 0 && depth == ProbeDepth::kSearch) {
    const std::uint64_t limit = Limits{}.scan_bytes;
    detected = is_recordio_name(file_name) ? detect_by_search(source, limit) : detect_by_frames(source, limit);
  }
  if (!detected) return std::move(detected).error();
  return detected->bits;
}

Result<std::unique_ptr<Container>> open(std::shared_ptr<const Source> source, const Limits& limits) {
  auto detected = detect_by_head(*source);
  if (detected && detected->bits == 0) detected = detect_by_search(*source, Limits{}.scan_bytes);
  if (!detected) return std::move(detected).error();
  if (detected->variant == Variant::kLegacy) {
    return std::unique_ptr<Container>(std::make_unique<legacy::LegacyContainer>(std::move(source), limits));
  }
  if (detected->variant == Variant::kCurrent || source->size() == 0) {
    return CurrentContainer::open(std::move(source), limits);
  }
  return Error{Code::kNoContainer, 0, "neither a valid recordio chunk nor a valid legacy record was found"};
}

}  // namespace

const Format kFormat = {.name = "recordio", .probe = probe, .open = open};

}  // namespace recordfs::recordio
