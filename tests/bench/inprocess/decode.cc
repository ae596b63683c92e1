#include <benchmark/benchmark.h>

#include "core/formats/field_projection.h"
#include "tests/bench/inprocess/benchmarks.h"
#include "tests/bench/inprocess/plain.h"

namespace recordfs::bench {
namespace {

// An iteration decodes one chunk, or one field of its records; the next iteration takes the next chunk.
void decode(benchmark::State& state, Subject& subject, std::uint32_t field) {
  FieldProjection fields;
  fields.add(field == 0 ? std::vector<std::uint32_t>() : std::vector{field});
  const Opened file = subject.open();
  const std::vector<ChunkInfo> chunks = subject.chunks(*file.container);
  std::uint64_t at = 0, bytes = 0, records = 0;
  for (auto _ : state) {
    auto chunk = file.container->decode_fields({}, chunks[at++ % chunks.size()], fields);
    if (!chunk) give_up(subject.path(), chunk.error());
    // A chunk may be decoded only as far as it is read.
    auto payload = (*chunk)->read({}, 0, (*chunk)->payload_size());
    if (!payload) give_up(subject.path(), payload.error());
    benchmark::DoNotOptimize(payload->bytes.data());
    bytes += (*chunk)->layout().total();
    records += (*chunk)->layout().records();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
  state.SetItemsProcessed(static_cast<std::int64_t>(records));
}

using Decode = bool (PlainDecoder::*)(const PackedChunk&);

void plain(benchmark::State& state, Subject& subject, Decode decode_chunk) {
  const std::vector<PackedChunk>& chunks = subject.packed_chunks();
  PlainDecoder decoder;
  std::uint64_t at = 0, bytes = 0, records = 0;
  for (auto _ : state) {
    const PackedChunk& chunk = chunks[at++ % chunks.size()];
    if (!(decoder.*decode_chunk)(chunk)) {
      state.SkipWithError("a chunk does not decompress");
      return;
    }
    bytes += chunk.record_bytes;
    records += chunk.records;
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
  state.SetItemsProcessed(static_cast<std::int64_t>(records));
}

}  // namespace

void register_decode(Subject& subject) {
  const std::string& name = subject.name();
  benchmark::RegisterBenchmark(("decode/" + name).c_str(), decode, std::ref(subject), 0)->UseRealTime();
  benchmark::RegisterBenchmark(("field/" + name).c_str(), decode, std::ref(subject), kWideFields / 2)->UseRealTime();
  benchmark::RegisterBenchmark(("plain/" + name).c_str(), plain, std::ref(subject), &PlainDecoder::decode)
      ->UseRealTime();
  if (!name.starts_with("riegeli-zstd")) return;
  benchmark::RegisterBenchmark(("half/" + name).c_str(), plain, std::ref(subject), &PlainDecoder::decode_half)
      ->UseRealTime();
}

}  // namespace recordfs::bench
