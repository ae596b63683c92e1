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
  const ContainerTraits& traits() const override { return traits_; }
  const RecordSchema& schema() const override { return schema_; }

 protected:
  // `compression`: as in info.json.
  File(const Limits& limits, std::string_view compression, bool index_fits_in_chunk);

  const Limits& limits() const { return limits_; }

 private:
  const Limits limits_;
  const ContainerTraits traits_;
  const RecordSchema schema_;
};

// Returns an error for records that the scan found and that have changed since.
Error not_as_found(Position at);
// Returns the error for a record whose checksum does not match.
Error wrong_data(Position at);

// Returns a damaged region with an unknown number of lost records.
DamagedRegion region(Position begin, Position end, DamageClass damage_class, std::string reason);

}  // namespace recordfs::tfrecord
