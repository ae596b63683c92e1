// Checks the rules against containers that each violate one of them. A rule that no container can violate checks
// nothing.
#include "tests/contract/rules.h"

#include <functional>

#include <gtest/gtest.h>

#include "tests/toy/toy_format.h"

namespace recordfs::contract {
namespace {

// A valid toy container whose answers a test can change.
class FaultyContainer final : public ForwardingContainer {
 public:
  explicit FaultyContainer(const toy::Shape& shape) : FaultyContainer(shape, toy::make_file(shape).bytes) {}

  std::function<void(Step&)> change_step;
  std::function<Result<Layout>(Layout)> change_layout;
  std::function<Result<Verification>()> change_verify;
  std::function<std::optional<ChunkInfo>(Position)> change_locate;
  const Container* in_place = nullptr;  // container whose chunks it returns
  RecordSchema meaning{};

  std::uint64_t size() const { return size_; }
  const ContainerTraits& traits() const override { return traits_; }
  Result<Step> scan(const RequestContext& context, ChunkKey at) const override {
    auto step = below().scan(context, at);
    if (step && change_step) change_step(*step);
    return step;
  }
  Result<Layout> layout(const RequestContext& context, const ChunkInfo& chunk) const override {
    auto layout = below().layout(context, chunk);
    return change_layout ? change_layout(std::move(*layout)) : std::move(layout);
  }
  Result<Verification> verify(const RequestContext& context, const ChunkInfo& chunk) const override {
    return change_verify ? change_verify() : below().verify(context, chunk);
  }
  Result<std::shared_ptr<const Chunk>> open_in_place(const RequestContext& context,
                                                     const ChunkInfo& chunk) const override {
    return in_place ? in_place->decode(context, chunk) : below().open_in_place(context, chunk);
  }
  Result<std::optional<ChunkInfo>> locate(const RequestContext& context, Position at) const override {
    return change_locate ? change_locate(at) : below().locate(context, at);
  }
  const RecordSchema& schema() const override { return meaning; }

 private:
  FaultyContainer(const toy::Shape&, const std::string& bytes)
      : ForwardingContainer(toy::open(toy::source_of(bytes), Limits{}).value()),
        size_(bytes.size()),
        traits_(below().traits()) {
    traits_.has_seek_structure = true;
  }

  const std::uint64_t size_;
  ContainerTraits traits_;
};

DamagedRegion region_of(Position begin, Position end) {
  DamagedRegion region;
  region.begin = begin;
  region.end = end;
  region.reason = "made up";
  return region;
}

// Returns what check_walk reports after `change` has altered the first step.
std::string walk_with(const std::function<void(Step&)>& change) {
  FaultyContainer faulty({});
  faulty.change_step = [&, is_first = true](Step& step) mutable {
    if (is_first) change(step);
    is_first = false;
  };
  const Violations broken = check_walk(walk(faulty, faulty.size()), faulty.size());
  return broken.empty() ? "" : broken.front();
}

ChunkInfo first_chunk(const FaultyContainer& faulty) { return *faulty.scan({}, faulty.traits().first).value().chunk; }

std::string chunk_of(const FaultyContainer& faulty) {
  const Violations broken = check_chunk(faulty, first_chunk(faulty), 1);
  return broken.empty() ? "" : broken.front();
}

TEST(RulesTest, ConformingContainerBreaksNoRule) {
  const FaultyContainer faulty({.by_parts = true});
  EXPECT_EQ(walk_with([](Step&) {}), "");
  EXPECT_EQ(chunk_of(faulty), "");
  EXPECT_TRUE(check_rescan(faulty, walk(faulty, faulty.size())).empty());
  EXPECT_TRUE(check_locate(faulty, walk(faulty, faulty.size()), std::vector<Position>{0, 40, 100}).empty());
}

TEST(RulesTest, ScanThatDoesNotAdvanceIsReportedAsEndless) {
  FaultyContainer faulty({});
  faulty.change_step = [&](Step& step) { step.next = faulty.traits().first; };
  const Walk endless = walk(faulty, faulty.size());
  EXPECT_TRUE(endless.endless);
  EXPECT_FALSE(check_walk(endless, faulty.size()).empty());
}

TEST(RulesTest, ChunksThatAreEmptyOrOutsideTheFileAreDetected) {
  EXPECT_NE(walk_with([](Step& step) { step.chunk->end += 1 << 20; }).find("beyond the file"), std::string::npos);
  EXPECT_NE(walk_with([](Step& step) { step.chunk->end = step.chunk->begin; }).find("is empty"), std::string::npos);
  EXPECT_NE(walk_with([](Step& step) { step.chunk->kind = ChunkKind("two words"); }).find("kind"), std::string::npos);
  EXPECT_NE(walk_with([](Step& step) { step.chunk->key.position += 1; }).find("key"), std::string::npos);
}

TEST(RulesTest, OverlappingChunksAreDetected) {
  EXPECT_NE(walk_with([](Step& step) { step.chunk->end += 100; }).find("overlaps the previous one"), std::string::npos);
}

TEST(RulesTest, RegionsThatAreEmptyOutsideOrOutOfOrderAreDetected) {
  EXPECT_NE(walk_with([](Step& step) { step.damage = {region_of(5, 5)}; }).find("is empty"), std::string::npos);
  EXPECT_NE(walk_with([](Step& step) { step.damage = {region_of(5, 1 << 20)}; }).find("beyond the file"),
            std::string::npos);
  EXPECT_NE(walk_with([](Step& step) {
              step.damage = {region_of(5, 9), region_of(8, 10)};
            }).find("overlaps"),
            std::string::npos);
  EXPECT_NE(walk_with([](Step& step) { step.damage = {region_of(5, step.chunk->begin + 1)}; }).find("reaches into"),
            std::string::npos);
}

TEST(RulesTest, StepWithADifferentResultOnRepetitionIsDetected) {
  FaultyContainer faulty({});
  const Walk before = walk(faulty, faulty.size());
  faulty.change_step = [](Step& step) { step.damage.push_back(region_of(1, 2)); };
  EXPECT_EQ(check_rescan(faulty, before).size(), before.visits.size());
}

TEST(RulesTest, LayoutThatDisagreesWithDecodeIsDetected) {
  FaultyContainer faulty({});
  faulty.change_layout = [](Layout layout) {
    layout.add({}, 1);
    return layout;
  };
  EXPECT_NE(chunk_of(faulty).find("number of records"), std::string::npos);
  faulty.change_layout = [](const Layout& layout) {
    Layout other(layout.first_begin() + 1);
    for (std::uint64_t i = 0; i < layout.records(); ++i) other.add({}, layout.extent(i).size);
    return other;
  };
  EXPECT_NE(chunk_of(faulty).find("the position of record 0"), std::string::npos);
  faulty.change_layout = [](const Layout& layout) {
    Layout other(layout.first_begin());
    for (std::uint64_t i = 0; i < layout.records(); ++i) other.add_failed({}, layout.extent(i).size, Error{});
    return other;
  };
  EXPECT_NE(chunk_of(faulty).find("decode loses"), std::string::npos);
}

TEST(RulesTest, VerifyFailureOfADecodableChunkIsDetected) {
  FaultyContainer faulty({});
  faulty.change_verify = [] { return Result<Verification>(Error{.code = Code::kDamage, .detail = "made up"}); };
  EXPECT_NE(chunk_of(faulty).find("verify fails"), std::string::npos);
}

TEST(RulesTest, UnreadablePartsAreDetected) {
  FaultyContainer faulty({});
  const FaultyContainer other({.record_size = [](std::uint64_t) { return std::size_t{21}; }});
  faulty.in_place = &other;
  EXPECT_NE(chunk_of(faulty).find("open_in_place fails"), std::string::npos);
}

TEST(RulesTest, InvalidPartsOfARecordAreDetected) {
  FaultyContainer faulty({});
  const Part slice{.key = "slice", .kind = PartKind::kSlice, .extent = {1, 19}};
  faulty.meaning.parts = RecordSchema::Parts::kRequired;
  const auto result_of_parts = [&](const Result<Parts>& parts) {
    faulty.meaning.value = [&parts](Bytes record, ValueForm) -> Result<Value> {
      if (!parts) return parts.error();
      return value_of(*parts, record);
    };
    return chunk_of(faulty);
  };
  EXPECT_EQ(result_of_parts(Parts{{.key = "directory"}, slice}), "");
  EXPECT_EQ(result_of_parts(Error{.code = Code::kDamage, .detail = "made up"}), "");
  EXPECT_NE(result_of_parts(Error{.code = Code::kIo, .detail = "made up"}).find("an error that is not in the bytes"),
            std::string::npos);
  EXPECT_NE(result_of_parts(Parts{{.kind = PartKind::kSlice, .extent = {1, 20}}}).find("beyond record"),
            std::string::npos);
  EXPECT_NE(result_of_parts(Parts{{.kind = PartKind::kSlice, .extent = {21, 1}}}).find("beyond record"),
            std::string::npos);
}

TEST(RulesTest, InvalidValuesAreDetected) {
  FaultyContainer faulty({});
  Value value{Value::Object{{"a", {}}, {"b", {}}, {"", {}}, {"", {}}}};
  faulty.meaning.value = [&value](Bytes, ValueForm) { return value; };
  EXPECT_EQ(chunk_of(faulty), "");
  value = Value{Value::Object{{"a", {}}, {"a", {}}}};
  EXPECT_NE(chunk_of(faulty).find("invalid value"), std::string::npos);
  value = Value{};
  for (int depth = 0; depth < 100; ++depth) {
    Value::List around;
    around.push_back(std::move(value));
    value.is = std::move(around);
  }
  EXPECT_NE(chunk_of(faulty).find("invalid value"), std::string::npos);
}

TEST(RulesTest, InvalidChangesAreDetected) {
  FaultyContainer faulty({});
  bool fails = false;
  faulty.meaning.change_kinds = [&](Bytes, const TakeChangeKind& take) -> Result<void> {
    take(KeyChangeKind::kSet);
    if (fails) return Error{.code = Code::kDamage, .detail = "made up"};
    return {};
  };
  EXPECT_EQ(chunk_of(faulty), "");
  fails = true;
  EXPECT_NE(chunk_of(faulty).find("returns changes and then fails"), std::string::npos);
}

TEST(RulesTest, LocateThatMissesOrInventsChunksIsDetected) {
  FaultyContainer faulty({});
  const Walk walked = walk(faulty, faulty.size());
  const std::vector<Position> inside{first_chunk(faulty).begin + 1};
  faulty.change_locate = [](Position) { return std::optional<ChunkInfo>{}; };
  EXPECT_EQ(check_locate(faulty, walked, inside).size(), 1u);
  faulty.change_locate = [&](Position) { return std::optional(first_chunk(faulty)); };
  EXPECT_EQ(check_locate(faulty, walked, std::vector<Position>{0}).size(), 1u);
}

}  // namespace
}  // namespace recordfs::contract
