#include "core/formats/tfrecord/container.h"

#include <optional>
#include <utility>

#include "core/formats/tensorflow_example.h"
#include "core/formats/tfrecord/format.h"

namespace recordfs::tfrecord {

File::File(const Limits& limits, std::string_view compression, bool index_fits_in_chunk)
    : limits_(limits),
      traits_{.format = kFormat.name,
              .facts = {{"compression", std::string(compression)}},
              .index_fits_in_chunk = index_fits_in_chunk},
      schema_{
          .value = [this](Bytes record, ValueForm form) { return tensorflow::value_of_example(record, limits_, form); },
          .parts = RecordSchema::Parts::kOptional,
          .largest_record_with_parts = limits.stored_chunk} {}

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
