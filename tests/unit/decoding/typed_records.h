// What a container tells of its records' types, defined by a test.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/container.h"

namespace recordfs::testing {

struct TypedRecords final : Metadata {
  RecordSchema schema{};
  std::string type{};
  std::optional<Error> type_failure{};
  std::function<Result<std::shared_ptr<const std::string>>(const ChunkInfo&)> descriptors_at{};
  std::function<Result<std::vector<Attribute>>(const ChunkInfo&)> metadata_at{};  // null: does not vary

  Result<std::vector<Attribute>> attributes(const RequestContext&, const ChunkInfo*) const override {
    return std::vector<Attribute>{};
  }
  bool varies() const override { return static_cast<bool>(metadata_at); }
  Result<std::vector<Attribute>> attributes_at(const RequestContext&, const ChunkInfo& chunk) const override {
    return metadata_at(chunk);
  }
  Result<std::string_view> record_type(const RequestContext&) const override {
    if (type_failure) return *type_failure;
    return std::string_view(type);
  }
  bool has_descriptors() const override { return static_cast<bool>(descriptors_at); }
  Result<std::shared_ptr<const std::string>> descriptors(const RequestContext&, const ChunkInfo& chunk) const override {
    return descriptors_at(chunk);
  }
};

}  // namespace recordfs::testing
