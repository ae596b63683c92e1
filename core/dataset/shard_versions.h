// The versions of the shards in which records were counted.
#pragma once

#include <map>
#include <string>

#include "core/base/result.h"

namespace recordfs {

// Fails with kChanged if another version of a shard is known, and otherwise remembers this one (SourceId::version). Not
// thread-safe.
template <class Shard>
Result<void> check_version(std::map<Shard, std::string>& versions, const Shard& shard, const std::string& version) {
  const auto [known, is_new] = versions.try_emplace(shard, version);
  if (is_new || known->second == version) return {};
  return Error{.code = Code::kChanged, .detail = "the file has changed since it was opened"};
}

}  // namespace recordfs
