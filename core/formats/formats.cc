// The explicit list of formats: one line each, in the order in which users see them.
#include <array>

#include "core/formats/array_record/format.h"
#include "core/formats/avro/format.h"
#include "core/formats/bloscpack/format.h"
#include "core/formats/leveldb_log/format.h"
#include "core/formats/leveldb_table/format.h"
#include "core/formats/proio/format.h"
#include "core/formats/recordio/format.h"
#include "core/formats/registry.h"
#include "core/formats/riegeli/format.h"
#include "core/formats/rocksdb_blob/format.h"
#include "core/formats/tfrecord/format.h"
#include "core/formats/wandb/format.h"

namespace recordfs {

std::span<const Format> formats() {
  static const std::array kFormats{
      array_record::kFormat,  riegeli::kFormat,      recordio::kFormat, leveldb_log::kFormat,
      leveldb_table::kFormat, rocksdb_blob::kFormat, proio::kFormat,    bloscpack::kFormat,
      avro::kFormat,          tfrecord::kFormat,     wandb::kFormat,
  };
  return kFormats;
}

}  // namespace recordfs
