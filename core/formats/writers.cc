// The explicit list of formats that can be written.
#include <algorithm>
#include <array>

#include "core/formats/array_record/writer.h"
#include "core/formats/bloscpack/writer.h"
#include "core/formats/leveldb_log/writer.h"
#include "core/formats/leveldb_table/writer.h"
#include "core/formats/proio/writer.h"
#include "core/formats/record_writer.h"
#include "core/formats/recordio/writer.h"
#include "core/formats/riegeli/writer.h"
#include "core/formats/tfrecord/writer.h"
#include "core/formats/wandb/writer.h"

namespace recordfs {

std::span<const FileWriter> file_writers() {
  static const std::array kWriters{
      array_record::kWriter,   //
      bloscpack::kWriter,      //
      leveldb_log::kWriter,    //
      leveldb_table::kWriter,  //
      proio::kWriter,          //
      recordio::kWriter,       //
      riegeli::kWriter,        //
      tfrecord::kWriter,       //
      wandb::kWriter,
  };
  return kWriters;
}

const FileWriter* find_writer(std::string_view format) {
  const auto writers = file_writers();
  const auto found = std::ranges::find(writers, format, &FileWriter::format);
  return found == writers.end() ? nullptr : &*found;
}

}  // namespace recordfs
