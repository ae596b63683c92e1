#include "core/formats/tfrecord/container.h"

#include <optional>
#include <utility>

#include "core/formats/tensorflow_example.h"
#include "core/formats/tfrecord/format.h"

namespace recordfs::tfrecord {

std::string_view File::format() const { return kFormat.name; }

Result<Parts> File::parts(Bytes record) const {
  auto parts = tensorflow::parts_of_example(record, limits_);
  if (!parts && parts.error().code == Code::kDamage) return Parts{};
  return parts;
}

Result<Value> File::value(Bytes record) const { return tensorflow::value_of_example(record, limits_); }

Error not_as_found(Position at) { return {Code::kDamage, at, "the records are not those that the scan found"}; }

Error wrong_data(Position at) { return {Code::kDamage, at, "a record that does not match its checksum"}; }

DamagedRegion region(Position begin, Position end, DamageClass damage_class, std::string reason) {
  return {.begin = begin,
          .end = end,
          .damage_class = damage_class,
          .records_before = 0,
          .records_lost = std::nullopt,
          .reason = std::move(reason)};
}

}  // namespace recordfs::tfrecord
