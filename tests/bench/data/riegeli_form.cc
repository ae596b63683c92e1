#include "tests/bench/data/form.h"
#include "tests/bench/data/riegeli_data.h"
#include "tests/bench/data/transposed.h"
#include "tests/bench/data/wide.h"
#include "tests/bench/data/wire.h"
#include "tests/writers/riegeli/writer.h"

namespace recordfs::bench {

char compression_type(Packing packing) {
  switch (packing) {
    case Packing::kZstd: return 'z';
    case Packing::kBrotli: return 'b';
    case Packing::kSnappy: return 's';
    default: return '\0';
  }
}

Part part_of(Packing packing, std::string_view content) {
  Part part{.packing = packing, .size = {}, .stored = packed(packing, content), .unpacked_size = content.size()};
  if (packing != Packing::kNone) put_varint(part.size, content.size());
  return part;
}

void append(PackedChunk& chunk, const Part& part) {
  chunk.stored += part.size;
  chunk.add(part.packing, part.stored, part.unpacked_size);
}

PackedChunk simple_chunk(const Batch& batch, Packing packing) {
  std::string sizes, values;
  for (const std::string& record : batch.records()) {
    put_varint(sizes, record.size());
    values += record;
  }
  PackedChunk chunk{.stored = std::string(1, compression_type(packing)), .check = Check::kHighway};
  const Part stored_sizes = part_of(packing, sizes);
  put_varint(chunk.stored, stored_sizes.length());
  append(chunk, stored_sizes);
  append(chunk, part_of(packing, values));
  chunk.records = batch.records().size();
  chunk.record_bytes = batch.bytes();
  return chunk;
}

std::uint64_t write_chunk(riegeli_writer::Writer& writer, char type, const PackedChunk& chunk) {
  return writer.add(
      {.type = type, .num_records = chunk.records, .decoded_data_size = chunk.record_bytes, .data = chunk.stored});
}

namespace {

class RiegeliForm final : public BatchWriter {
 public:
  RiegeliForm(char type, Packing packing, PackedChunk (*make_chunk)(const Batch&, Packing))
      : type_(type), packing_(packing), make_chunk_(make_chunk) {}

 protected:
  void close(const Batch& batch) override {
    PackedChunk chunk = make_chunk_(batch, packing_);
    write_chunk(writer_, type_, chunk);
    note(std::move(chunk));
  }
  std::string take_bytes() override { return writer_.take(); }

 private:
  const char type_;
  const Packing packing_;
  PackedChunk (*const make_chunk_)(const Batch&, Packing);
  riegeli_writer::Writer writer_;
};

}  // namespace

std::unique_ptr<FormWriter> riegeli_writer_of(Packing packing) {
  return std::make_unique<RiegeliForm>('r', packing, simple_chunk);
}

std::unique_ptr<FormWriter> transposed_writer_of(Packing packing) {
  return std::make_unique<RiegeliForm>('t', packing, transposed_chunk);
}

std::unique_ptr<FormWriter> wide_writer_of(Packing packing) {
  return std::make_unique<RiegeliForm>('t', packing, wide_chunk);
}

}  // namespace recordfs::bench
