// The part shared by plain and compressed TFRecord files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/limits.h"
#include "core/formats/container.h"

namespace recordfs::tfrecord {

class File : public Container {
 public:
  explicit File(const Limits& limits) : limits_(limits) {}

  std::string_view format() const override;
  // Records that are a tensorflow.Example have parts; others have none.
  bool has_parts() const override { return true; }
  std::uint64_t largest_record_with_parts() const override { return limits_.stored_chunk; }
  Result<Parts> parts(Bytes record) const override;
  bool has_values() const override { return true; }
  Result<Value> value(Bytes record) const override;

 protected:
  const Limits& limits() const { return limits_; }

 private:
  const Limits limits_;
};

// Returns an error for records that the scan found and that have changed since.
Error not_as_found(Position at);
// Returns the error for a record whose checksum does not match.
Error wrong_data(Position at);

// Returns a damaged region with an unknown number of lost records.
DamagedRegion region(Position begin, Position end, DamageClass damage_class, std::string reason);

}  // namespace recordfs::tfrecord
