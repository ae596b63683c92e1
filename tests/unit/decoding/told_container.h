// An empty container with test-defined answers about its records.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/formats/container.h"

namespace recordfs::testing {

struct ToldContainer final : Container {
  std::function<Result<Value>(Bytes)> tell{};
  std::string type{};
  std::optional<Error> type_failure{};
  bool may_be_messages = true;
  std::function<Result<std::shared_ptr<const std::string>>(const ChunkInfo&)> descriptors_at{};

  std::string_view format() const override { return "told"; }
  Result<Step> scan(ChunkKey) const override { return Step{}; }
  Result<std::shared_ptr<const Chunk>> decode(const ChunkInfo&) const override {
    return Error{.code = Code::kDamage, .detail = "there is no chunk"};
  }
  bool has_values() const override { return static_cast<bool>(tell); }
  Result<Value> value(Bytes record) const override { return tell(record); }
  Result<std::string_view> record_type() const override {
    if (type_failure) return *type_failure;
    return std::string_view(type);
  }
  bool may_hold_messages() const override { return may_be_messages; }
  bool has_descriptors() const override { return static_cast<bool>(descriptors_at); }
  Result<std::shared_ptr<const std::string>> descriptors(const ChunkInfo& chunk) const override {
    return descriptors_at(chunk);
  }
};

}  // namespace recordfs::testing
