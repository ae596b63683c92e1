#include "tests/bench/data/form.h"

#include <algorithm>
#include <array>

namespace recordfs::bench {

void PackedChunk::add(Packing packing, std::string_view packed_bytes, std::uint64_t unpacked_size) {
  pieces.push_back({packing, stored.size(), packed_bytes.size(), unpacked_size});
  stored += packed_bytes;
}

void BatchWriter::add(std::string record) {
  batch_.add(std::move(record));
  if (batch_.is_full()) close_batch();
}

std::string BatchWriter::take(bool at_end) {
  if (at_end && !batch_.empty()) close_batch();
  if (at_end) finish();
  return take_bytes();
}

bool BatchWriter::set_records_per_chunk(std::uint64_t records) {
  batch_ = Batch(records);
  return true;
}

void BatchWriter::close_batch() {
  close(batch_);
  batch_.clear();
}

std::span<const Form> forms() {
  static constexpr std::array kForms = {
      Form{"riegeli-none", [] { return riegeli_writer_of(Packing::kNone); }},
      Form{"riegeli-zstd", [] { return riegeli_writer_of(Packing::kZstd); }},
      Form{"riegeli-brotli", [] { return riegeli_writer_of(Packing::kBrotli); }},
      Form{"riegeli-snappy", [] { return riegeli_writer_of(Packing::kSnappy); }},
      Form{"riegeli-transposed", [] { return transposed_writer_of(Packing::kBrotli); }},
      Form{"riegeli-wide", [] { return wide_writer_of(Packing::kZstd); }},
      Form{"array_record-none", [] { return array_record_writer_of(Packing::kNone); }},
      Form{"array_record-zstd", [] { return array_record_writer_of(Packing::kZstd); }},
      Form{"tfrecord", [] { return tfrecord_writer(); }},
      Form{"leveldb", [] { return leveldb_writer(); }},
      Form{"leveldb_table-none", [] { return leveldb_table_writer_of(Packing::kNone); }},
      Form{"leveldb_table-snappy", [] { return leveldb_table_writer_of(Packing::kSnappy); }},
      Form{"leveldb_table-zstd", [] { return leveldb_table_writer_of(Packing::kZstd); }},
      Form{"recordio-none", [] { return recordio_writer_of(Packing::kNone); }},
      Form{"recordio-zstd", [] { return recordio_writer_of(Packing::kZstd); }},
      Form{"recordio-flate", [] { return recordio_writer_of(Packing::kDeflate); }},
      Form{"proio-none", [] { return proio_writer_of(Packing::kNone); }},
      Form{"proio-lz4", [] { return proio_writer_of(Packing::kLz4); }},
      Form{"proio-gzip", [] { return proio_writer_of(Packing::kGzip); }},
      Form{"bloscpack-lz4", [] { return bloscpack_writer_of("lz4"); }},
      Form{"bloscpack-zstd", [] { return bloscpack_writer_of("zstd"); }},
  };
  return kForms;
}

const Form* form_named(std::string_view name) {
  const auto found = std::ranges::find(forms(), name, &Form::name);
  return found == forms().end() ? nullptr : &*found;
}

}  // namespace recordfs::bench
