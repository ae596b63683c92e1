// Blocks whose items were transformed.
#include <gtest/gtest.h>

#include "tests/unit/formats/recordio/packing.h"
#include "tests/unit/formats/recordio/reading.h"
#include "tests/writers/recordio/writer.h"

namespace recordfs::recordio {
namespace {

using namespace recordio_writer;

const Items kItems{text(3000), "", text(500, 'c')};

std::string body_of(std::string_view stored) { return block(Magic::kBody, stored); }

// Returns the records of one block that contains `stored`.
Items records_of(const std::vector<std::string>& transformers, std::string_view stored) {
  const Reading reading = read_file(header_with(transformers) + body_of(stored));
  EXPECT_TRUE(reading.damage.empty());
  return reading.records;
}

Error failure_of(const std::vector<std::string>& transformers, std::string_view stored) {
  const Reading reading = read_file(header_with(transformers) + body_of(stored) + body_of(stored));
  EXPECT_TRUE(reading.records.empty());
  return reading.failures.size() == 2 ? reading.failures[1] : Error{};
}

TEST(Transform, TransformerIsReadWithAndWithoutALevel) {
  const std::string content = content_of(kItems);
  EXPECT_EQ(records_of({"flate"}, flate(content)), kItems);
  EXPECT_EQ(records_of({"flate 0"}, flate(content, 0)), kItems);
  EXPECT_EQ(records_of({"zstd"}, zstd(content)), kItems);
  EXPECT_EQ(records_of({"zstd  9 fast"}, zstd(content)), kItems);
}

TEST(Transform, SeveralTransformersAreUndoneLastToFirst) {
  const std::string content = content_of(kItems);
  EXPECT_EQ(records_of({"flate", "zstd 1"}, zstd(flate(content))), kItems);
  EXPECT_EQ(records_of({"zstd", "flate"}, flate(zstd(content))), kItems);
  EXPECT_EQ(records_of({"zstd", "flate", "zstd"}, zstd(flate(zstd(content)))), kItems);
}

TEST(Transform, EveryBlockOfAChainIsRead) {
  const Items items{text(60000), text(50000, 'x')};
  const std::string stored = zstd(flate(content_of(items)));
  const Reading reading = read_file(header_with({"flate", "zstd"}) + body_of(stored) + body_of(stored));
  EXPECT_EQ(reading.records, (Items{items[0], items[1], items[0], items[1]}));
  EXPECT_EQ(reading.chunks[1].codec, "flate+zstd");
}

TEST(Transform, EveryFormOfZstdFrameIsRead) {
  const std::string content = content_of(kItems);
  EXPECT_EQ(records_of({"zstd"}, zstd(content, {.states_size = false})), kItems);
  EXPECT_EQ(records_of({"zstd"}, zstd(content, {.has_checksum = true})), kItems);
  EXPECT_EQ(records_of({"zstd"}, zstd(content.substr(0, 2)) + zstd(content.substr(2))), kItems);
  EXPECT_EQ(records_of({"zstd"}, skippable("nothing") + zstd(content) + skippable("")), kItems);
}

TEST(Transform, BytesAfterADeflateStreamAreIgnored) {
  EXPECT_EQ(records_of({"flate"}, flate(content_of(kItems)) + "more"), kItems);
  EXPECT_EQ(failure_of({"zstd"}, zstd(content_of(kItems)) + "more").code, Code::kDamage);
}

TEST(Transform, LayoutOfALargeBlockNeedsOnlyItsBeginning) {
  std::string noise;
  for (std::uint32_t i = 0, x = 1; i < 1000000; ++i)
    noise.push_back(static_cast<char>((x = x * 1664525 + 1013904223) >> 24));
  std::string file = header_with({"zstd"}) + body_of(zstd(content_of({"first", noise})));
  file[300000] = static_cast<char>(file[300000] ^ 1);
  const auto container = open_file(file);
  const ChunkInfo chunk = container->scan({}, {32768, 0}).value().chunk.value();
  const auto layout = container->layout({}, chunk);
  ASSERT_TRUE(layout) << to_string(layout.error());
  EXPECT_EQ(layout->extent(1).size, noise.size());
  EXPECT_EQ(container->decode({}, chunk).error().position, 294912u);
}

TEST(Transform, DamageAfterTheTableKeepsAllOrdinals) {
  const std::string stored = flate(content_of({"first", text(10000)}), 0);
  const auto container = open_file(header_with({"flate 0"}) + body_of(stored.substr(0, 5000)));
  const ChunkInfo chunk = container->scan({}, {32768, 0}).value().chunk.value();
  EXPECT_EQ(container->layout({}, chunk).value().records(), 2u);
  EXPECT_EQ(container->decode({}, chunk).error().code, Code::kDamage);
}

TEST(Transform, TableLongerThanTheFirstReadIsReadCompletely) {
  const Items items(100000, "ab");
  const std::string content = content_of(items);
  EXPECT_EQ(records_of({"zstd"}, zstd(content)), items);
  EXPECT_EQ(records_of({"flate"}, flate(content)), items);
  EXPECT_EQ(records_of({"flate 0", "zstd"}, zstd(flate(content, 0))), items);
}

TEST(Transform, UnknownTransformerIsUnsupportedAndTheBlockIsListed) {
  for (const std::vector<std::string>& names :
       std::vector<std::vector<std::string>>{{"xor 33"}, {"zstd", "xor"}, {""}}) {
    const std::string file = header_with(names) + body_of("anything");
    const auto container = open_file(file);
    const ChunkInfo chunk = container->scan({}, {32768, 0}).value().chunk.value();
    EXPECT_EQ(chunk.codec, "unknown");
    EXPECT_FALSE(chunk.records);
    EXPECT_EQ(container->layout({}, chunk).error().code, Code::kUnsupported);
    EXPECT_EQ(container->decode({}, chunk).error().code, Code::kUnsupported);
    EXPECT_TRUE(container->verify({}, chunk));
  }
}

TEST(Transform, ReasonForAnUnknownTransformerIsText) {
  const auto container = open_file(header_with({"a\n\x1b\xff\\"}) + body_of("anything"));
  const ChunkInfo chunk = container->scan({}, {32768, 0}).value().chunk.value();
  EXPECT_EQ(container->layout({}, chunk).error().detail, "unknown transformer \"a\\x0a\\x1b\\xff\\\"");
}

TEST(Transform, LongTransformerNameIsTruncated) {
  const auto container = open_file(header_with({std::string(4096, 'x')}) + body_of("anything"));
  const ChunkInfo chunk = container->scan({}, {32768, 0}).value().chunk.value();
  EXPECT_EQ(container->layout({}, chunk).error().detail, "unknown transformer \"" + std::string(64, 'x') + "...\"");
}

TEST(Transform, LongTransformerNamesAreLeftOutOfFactsAndReasons) {
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{std::string(1 << 20, 'x')}, std::vector<std::string>(50, std::string(4096, 'x'))}) {
    const auto container = open_file(header_with(names) + body_of("anything"));
    const ChunkInfo chunk =
        container->scan({}, *container->scan({}, container->traits().first).value().next).value().chunk.value();
    EXPECT_EQ(container->layout({}, chunk).error().detail,
              "the header's transformers are not all strings, or too long, or too many");
    for (const Fact& fact : container->traits().facts)
      EXPECT_LE(std::get<std::string>(fact.value).size(), 4096u) << fact.name;
    EXPECT_EQ(container->metadata()->attributes({}, nullptr).value().size(), names.size());
  }
}

TEST(Transform, BrokenChunkIsDamageWithAnyTransformer) {
  std::string file = header_with({"xor"}) + body_of(text(40000));
  file[70000] = '\0';
  const auto container = open_file(file);
  const ChunkInfo chunk = container->scan({}, {32768, 0}).value().chunk.value();
  EXPECT_EQ(container->decode({}, chunk).error().code, Code::kDamage);
  EXPECT_EQ(container->verify({}, chunk).error().code, Code::kDamage);
}

TEST(Transform, BrokenStreamsAreDamage) {
  const std::string content = content_of(kItems);
  EXPECT_EQ(failure_of({"flate"}, flate(content).substr(0, 100)).code, Code::kDamage);
  EXPECT_EQ(failure_of({"zstd"}, zstd(content).substr(0, 100)).code, Code::kDamage);
  EXPECT_EQ(failure_of({"zstd"}, "no frame at all").code, Code::kDamage);
  EXPECT_EQ(failure_of({"zstd"}, "").code, Code::kDamage);
  EXPECT_EQ(failure_of({"zstd"}, zstd(content + "more")).code, Code::kDamage);
  EXPECT_EQ(failure_of({"flate"}, flate(content.substr(0, content.size() - 1))).code, Code::kDamage);
}

// A block that is decoded only as far as it is read.
class LargeBlock : public ::testing::Test {
 protected:
  static constexpr std::size_t kRecords = 10;

  static Items items() {
    Items items;
    for (std::size_t i = 0; i < kRecords; ++i) items.push_back(text(100'000, static_cast<char>('a' + i)));
    return items;
  }

  // Returns null if the chunk cannot be decoded.
  static std::shared_ptr<const Chunk> chunk_of(const std::vector<std::string>& transformers, std::string_view stored) {
    const auto container = open_file(header_with(transformers) + body_of(stored));
    auto chunk = container->decode({}, container->scan({}, {32768, 0}).value().chunk.value());
    return chunk ? *chunk : nullptr;
  }

  static Result<Slice> read_record(const Chunk& chunk, std::size_t index) {
    const Extent extent = chunk.layout().extent(index);
    return chunk.read({}, extent.begin, extent.size);
  }

  // Returns the number of leading readable records, whatever the order of reads. All later ones fail with a reason.
  static std::size_t readable(const std::vector<std::string>& transformers, std::string_view stored) {
    const std::vector<std::size_t> good = {readable_from(0, transformers, stored),
                                           readable_from(4, transformers, stored),
                                           readable_from(9, transformers, stored)};
    EXPECT_EQ(good, std::vector(3, good[0]));
    return good[0];
  }

 private:
  static std::size_t readable_from(std::size_t start, const std::vector<std::string>& transformers,
                                   std::string_view stored) {
    const auto chunk = chunk_of(transformers, stored);
    if (!chunk) return 0;
    const Items want = items();
    std::size_t good = 0;
    std::size_t behind_last = 0;
    for (std::size_t i = 0; i < kRecords; ++i) {
      const std::size_t index = (start + i) % kRecords;
      const auto record = read_record(*chunk, index);
      if (record) {
        EXPECT_TRUE(as_text(record->bytes) == want[index]) << index;
        ++good;
        behind_last = std::max(behind_last, index + 1);
      } else {
        EXPECT_EQ(record.error().code, Code::kDamage);
        EXPECT_EQ(record.error().position, 32768u);
        EXPECT_TRUE(record.error().detail.starts_with("transformer " + transformers[0] + ": "))
            << record.error().detail;
      }
    }
    EXPECT_EQ(behind_last, good);
    return good;
  }
};

TEST_F(LargeBlock, PayloadIsTableAndItems) {
  const std::string content = content_of(items());
  for (const auto& [name, stored] : {std::pair{"zstd", zstd(content)}, std::pair{"flate", flate(content)}}) {
    const auto chunk = chunk_of({name}, stored);
    ASSERT_TRUE(chunk);
    ASSERT_EQ(chunk->payload_size(), content.size());
    EXPECT_EQ(as_text(chunk->read({}, 0, 500).value().bytes), content.substr(0, 500));
    EXPECT_TRUE(as_text(chunk->read({}, 0, content.size()).value().bytes) == content);
  }
}

TEST_F(LargeBlock, StreamBrokenAfterTheTableYieldsTheRecordsBefore) {
  const std::string content = content_of(items());
  for (const std::string name : {"zstd", "flate 0"}) {
    const std::string word = name.substr(0, name.find(' '));
    const std::string whole = word == "zstd" ? zstd(content) : flate(content, 0);
    const std::string half = whole.substr(0, whole.size() / 2);
    const std::size_t good = readable({word}, half);
    EXPECT_GT(good, 0u) << name;
    EXPECT_LT(good, kRecords) << name;
    // The data between two transformers is complete, or nothing.
    EXPECT_EQ(readable({word, "zstd"}, zstd(half)), good) << name;
    const std::string outer = zstd(whole, {.level = 1, .has_checksum = true});
    EXPECT_EQ(readable({word, "zstd"}, outer.substr(0, outer.size() - 1)), 0u) << name;
  }
}

TEST_F(LargeBlock, StreamThatIsTooLongOrTooShortLosesItsLastRecord) {
  const std::string content = content_of(items());
  EXPECT_EQ(readable({"zstd"}, zstd(content + "more")), kRecords - 1);
  EXPECT_EQ(readable({"zstd"}, zstd(content) + "more"), kRecords - 1);
  EXPECT_EQ(readable({"flate"}, flate(content + "more")), kRecords - 1);
  EXPECT_EQ(readable({"zstd"}, zstd(content.substr(0, content.size() - 1))), kRecords - 1);
}

TEST_F(LargeBlock, BrokenFrameLosesAllRecords) {
  std::string file = header_with({"flate"}) + body_of(flate(content_of(items()), 0));
  file.at(900'000) = static_cast<char>(file.at(900'000) ^ 1);
  const Reading reading = read_file(file);
  EXPECT_EQ(reading.records, Items());
  EXPECT_EQ(reading.failures.at(0).position, 884'736u);
}

TEST_F(LargeBlock, BlockWithoutAHeaderMustMatchItsTableExactly) {
  const std::string content = content_of(items());
  EXPECT_EQ(read_file(body_of(zstd(content))).records, items());
  const Reading reading = read_file(body_of(zstd(content + "more")));
  EXPECT_EQ(reading.records, Items());
  EXPECT_EQ(reading.failures.at(0).code, Code::kUnsupported);
}

TEST_F(LargeBlock, WindowTakesNoMemoryIfTheTableStatesTheSize) {
  Limits limits;
  limits.decoded_chunk = 4 << 20;
  const Items all{text(100'000), std::string(2 << 20, 'x')};
  const std::string content = content_of(all);
  const std::string stored =
      zstd(content.substr(0, 1 << 20)) + zstd(content.substr(1 << 20), {.states_size = false, .window_log = 27});
  const Reading reading = read_file(header_with({"zstd"}) + body_of(stored), limits);
  EXPECT_EQ(reading.records, all);
  EXPECT_TRUE(reading.failures.empty());
}

TEST(Transform, HostileSizesAreRefused) {
  EXPECT_EQ(failure_of({"zstd"}, zstd(varint(std::uint64_t{1} << 60))).code, Code::kLimit);
  EXPECT_EQ(failure_of({"flate"}, flate(varint(1) + varint(std::uint64_t{1} << 60))).code, Code::kLimit);
  EXPECT_EQ(failure_of({"zstd"}, zstd_claiming(std::uint64_t{1} << 40)).code, Code::kLimit);
}

TEST(Transform, WindowBeyondTheLimitIsRefusedBeforeAllocation) {
  Limits limits;
  limits.decoded_chunk = 4 << 20;
  const std::string small = zstd(content_of({"small"}), {.states_size = false});
  const std::string wide = zstd(content_of({"small"}), {.states_size = false, .window_log = 27});
  for (const std::string& stored : {wide, skippable("") + wide, zstd("") + wide}) {
    const Reading reading = read_file(header_with({"zstd"}) + body_of(stored) + body_of(small), limits);
    EXPECT_EQ(reading.records, Items{"small"});
    EXPECT_EQ(reading.failures.at(0).code, Code::kLimit);
  }
  EXPECT_EQ(records_of({"zstd"}, wide), Items{"small"});
}

// The table is in the first frame, so the second one is only met when the rest of the block is decoded.
TEST(Transform, WindowBetweenTransformersIsRefusedIfItTakesMemory) {
  Limits limits;
  limits.decoded_chunk = 4 << 20;
  const std::string item(2 << 20, 'x');  // larger than what its few stored bytes make plausible in advance
  const std::string content = content_of({item});
  const ZstdOptions wide{.states_size = false, .window_log = 27};
  const std::string stored = zstd(content.substr(0, 1 << 20)) + zstd(content.substr(1 << 20), wide);
  EXPECT_EQ(read_file(header_with({"zstd"}) + body_of(stored), limits).records, Items{item});
  // The size of the data between two transformers is unknown.
  const std::string inner = flate(content, 0);
  const std::string chain = zstd(inner.substr(0, 1 << 20)) + zstd(inner.substr(1 << 20), wide);
  EXPECT_EQ(read_file(header_with({"flate", "zstd"}) + body_of(chain), limits).failures.at(0).code, Code::kLimit);
  EXPECT_EQ(records_of({"flate", "zstd"}, chain), Items{item});
}

TEST(Transform, WindowThatTakesNoMemoryIsAccepted) {
  Limits limits;
  limits.decoded_chunk = 4 << 20;
  const Items items{text(100000)};
  const std::string content = content_of(items);
  const std::string stored =
      zstd(content.substr(0, 50000)) + zstd(content.substr(50000), {.states_size = false, .window_log = 27});
  EXPECT_EQ(read_file(header_with({"zstd"}) + body_of(stored), limits).records, items);
}

TEST(Transform, BombIsRefusedBeforeAllocation) {
  const std::string zeros = zstd(std::string(2 << 20, '\0'));
  std::string bomb = zstd(varint(1) + varint(std::uint64_t{2} << 30));
  for (int i = 0; i < 1024; ++i) bomb += zeros;  // two GiB
  EXPECT_EQ(failure_of({"zstd"}, bomb).code, Code::kLimit);
  // A bomb that claims a small size.
  std::string liar = zstd(varint(1) + varint(10));
  for (int i = 0; i < 1024; ++i) liar += zeros;
  EXPECT_EQ(failure_of({"zstd"}, liar).code, Code::kDamage);
  Limits limits;
  limits.decoded_chunk = 1 << 20;
  const Reading nested = read_file(header_with({"flate", "zstd"}) + body_of(bomb), limits);
  EXPECT_EQ(nested.failures.at(0).code, Code::kLimit);
}

// A deflate stream of empty blocks can have any length without output.
TEST(Transform, IntermediateOutputIsBoundedBeforeAllocation) {
  std::string empty;
  for (int i = 0; i < 1 << 18; ++i) empty.append("\0\0\0\xff\xff", 5);
  const std::string piece = zstd(empty);
  std::string stored;
  for (int i = 0; i < 2 << 10; ++i) stored += piece;  // more than two GiB
  Limits limits;
  limits.records_per_chunk = 1000;
  const auto container = open_file(header_with({"flate", "zstd"}) + body_of(stored), limits);
  const ChunkInfo chunk = container->scan({}, {32768, 0}).value().chunk.value();
  EXPECT_EQ(container->layout({}, chunk).error().code, Code::kLimit);
  EXPECT_EQ(container->decode({}, chunk).error().code, Code::kLimit);
}

TEST(Transform, TransformIsDetectedByTrialIfTheHeaderIsLost) {
  for (const std::string& stored : {zstd(content_of(kItems)), flate(content_of(kItems)), content_of(kItems)}) {
    EXPECT_EQ(read_file(body_of(stored)).records, kItems);
  }
  const Reading reading = read_file(body_of(zstd(flate(content_of(kItems)))));
  EXPECT_EQ(reading.failures.at(0).code, Code::kUnsupported);
}

TEST(Transform, CompressedTrailerIsDecompressed) {
  const std::string head =
      header({{string_value("transformer"), string_value("zstd")}, {string_value("trailer"), bool_value(true)}});
  const auto container = open_file(head + block(Magic::kTrailer, zstd(content_of({"the end"}))));
  EXPECT_EQ(as_text(container->trailer()->operator()({}).value().view()), "the end");
}

TEST(Transform, CompressedTrailerBeyondTheLimitIsRefusedBeforeDecoding) {
  const std::string head =
      header({{string_value("transformer"), string_value("zstd")}, {string_value("trailer"), bool_value(true)}});
  Limits limits;
  limits.metadata_bytes = 1 << 20;
  const auto container =
      open_file(head + block(Magic::kTrailer, zstd(content_of({std::string(2 << 20, '\0')}))), limits);
  EXPECT_EQ(container->trailer()->operator()({}).error().code, Code::kLimit);
}

TEST(Transform, TruncatedCompressedBlockListsItsRecords) {
  const Items items{"first", text(400000)};
  std::string file = header_with({"flate 0"}) + body_of(flate(content_of(items), 0));
  file.resize(32768 * 4);
  const auto container = open_file(file);
  const Step step = container->scan({}, {32768, 0}).value();
  EXPECT_EQ(step.damage.at(0).damage_class, DamageClass::kUnfinished);
  EXPECT_EQ(container->layout({}, *step.chunk).value().records(), 2u);
  EXPECT_EQ(container->decode({}, *step.chunk).error().code, Code::kUnfinished);
}

}  // namespace
}  // namespace recordfs::recordio
