// The explicit list of formats that can be written.
#include <algorithm>
#include <array>

#include "core/formats/array_record/writer.h"
#include "core/formats/record_writer.h"
#include "core/formats/riegeli/writer.h"
#include "core/formats/tfrecord/writer.h"

namespace recordfs {

std::span<const FileWriter> file_writers() {
  static const std::array kWriters{tfrecord::kWriter, riegeli::kWriter, array_record::kWriter};
  return kWriters;
}

const FileWriter* find_writer(std::string_view format) {
  const auto writers = file_writers();
  const auto found = std::ranges::find(writers, format, &FileWriter::format);
  return found == writers.end() ? nullptr : &*found;
}

}  // namespace recordfs
