// Checks the rules against containers that each violate one of them. A rule that no container can violate checks
// nothing.
#include "tests/contract/rules.h"

#include <functional>

#include <gtest/gtest.h>

#include "tests/toy/toy_format.h"

namespace recordfs::contract {
namespace {

// A valid toy container whose answers a test can change.
class Liar final : public Container {
 public:
  explicit Liar(const toy::Shape& shape) : file_(toy::make_file(shape)) {
    truth_ = toy::open(toy::source_of(file_.bytes), Limits{}).value();
  }

  std::function<void(Step&)> change_step;
  std::function<Result<Layout>(Layout)> change_layout;
  std::function<Result<void>()> change_verify;
  std::function<std::optional<ChunkInfo>(Position)> change_locate;
  const Container* parts_of = nullptr;  // container whose parts it returns
  Result<Parts> inside = Parts{};       // returned as the parts of each record
  std::optional<Value> told{};          // returned as the value of each record
  std::vector<KeyChange> changes{};     // returned as the key changes of each record
  bool changes_fail = false;

  std::uint64_t size() const { return file_.bytes.size(); }
  std::string_view format() const override { return truth_->format(); }
  ChunkKey first() const override { return truth_->first(); }
  bool has_seek_structure() const override { return true; }
  Result<Step> scan(ChunkKey at) const override {
    auto step = truth_->scan(at);
    if (step && change_step) change_step(*step);
    return step;
  }
  Result<Layout> layout(const ChunkInfo& chunk) const override {
    auto layout = truth_->layout(chunk);
    return change_layout ? change_layout(std::move(*layout)) : std::move(layout);
  }
  Result<void> verify(const ChunkInfo& chunk) const override {
    return change_verify ? change_verify() : truth_->verify(chunk);
  }
  Result<std::shared_ptr<const Chunk>> decode(const ChunkInfo& chunk) const override { return truth_->decode(chunk); }
  Result<std::shared_ptr<const Chunk>> decode_by_parts(const ChunkInfo& chunk) const override {
    return parts_of ? parts_of->decode(chunk) : truth_->decode_by_parts(chunk);
  }
  bool has_values() const override { return told.has_value(); }
  Result<Value> value(Bytes) const override { return *told; }
  bool has_keys() const override { return !changes.empty() || changes_fail; }
  Result<void> key_changes(Bytes, const TakeKeyChange& take) const override {
    for (const KeyChange& change : changes) {
      if (!take(change)) break;
    }
    if (changes_fail) return Error{.code = Code::kDamage, .detail = "made up"};
    return {};
  }
  bool has_parts() const override { return true; }
  Result<Parts> parts(Bytes) const override { return inside; }
  Result<std::optional<ChunkInfo>> locate(Position at) const override {
    return change_locate ? change_locate(at) : truth_->locate(at);
  }

 private:
  const toy::File file_;
  std::unique_ptr<Container> truth_;
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
  Liar liar({});
  liar.change_step = [&, is_first = true](Step& step) mutable {
    if (is_first) change(step);
    is_first = false;
  };
  const Violations broken = check_walk(walk(liar, liar.size()), liar.size());
  return broken.empty() ? "" : broken.front();
}

ChunkInfo first_chunk(const Liar& liar) { return *liar.scan(liar.first()).value().chunk; }

std::string chunk_of(const Liar& liar) {
  const Violations broken = check_chunk(liar, first_chunk(liar), 1);
  return broken.empty() ? "" : broken.front();
}

TEST(RulesTest, SoundContainerBreaksNone) {
  const Liar liar({.by_parts = true});
  EXPECT_EQ(walk_with([](Step&) {}), "");
  EXPECT_EQ(chunk_of(liar), "");
  EXPECT_TRUE(check_rescan(liar, walk(liar, liar.size())).empty());
  EXPECT_TRUE(check_locate(liar, walk(liar, liar.size()), std::vector<Position>{0, 40, 100}).empty());
}

TEST(RulesTest, WalkOnTheSpotIsEndless) {
  Liar liar({});
  liar.change_step = [&](Step& step) { step.next = liar.first(); };
  const Walk endless = walk(liar, liar.size());
  EXPECT_TRUE(endless.endless);
  EXPECT_FALSE(check_walk(endless, liar.size()).empty());
}

TEST(RulesTest, ChunksOutsideTheFileOrEmptyAreSeen) {
  EXPECT_NE(walk_with([](Step& step) { step.chunk->end += 1 << 20; }).find("leaves the file"), std::string::npos);
  EXPECT_NE(walk_with([](Step& step) { step.chunk->end = step.chunk->begin; }).find("is empty"), std::string::npos);
  EXPECT_NE(walk_with([](Step& step) { step.chunk->kind = "two words"; }).find("kind"), std::string::npos);
  EXPECT_NE(walk_with([](Step& step) { step.chunk->key.position += 1; }).find("key"), std::string::npos);
}

TEST(RulesTest, OverlappingChunksAreSeen) {
  EXPECT_NE(walk_with([](Step& step) { step.chunk->end += 100; }).find("overlaps the one before"), std::string::npos);
}

TEST(RulesTest, RegionsThatAreEmptyOutsideOrOutOfOrderAreSeen) {
  EXPECT_NE(walk_with([](Step& step) { step.damage = {region_of(5, 5)}; }).find("is empty"), std::string::npos);
  EXPECT_NE(walk_with([](Step& step) { step.damage = {region_of(5, 1 << 20)}; }).find("leaves"), std::string::npos);
  EXPECT_NE(walk_with([](Step& step) {
              step.damage = {region_of(5, 9), region_of(8, 10)};
            }).find("overlaps"),
            std::string::npos);
  EXPECT_NE(walk_with([](Step& step) { step.damage = {region_of(5, step.chunk->begin + 1)}; }).find("reaches into"),
            std::string::npos);
}

TEST(RulesTest, StepThatChangesIsSeen) {
  Liar liar({});
  const Walk before = walk(liar, liar.size());
  liar.change_step = [](Step& step) { step.damage.push_back(region_of(1, 2)); };
  EXPECT_EQ(check_rescan(liar, before).size(), before.visits.size());
}

TEST(RulesTest, LayoutThatDisagreesWithDecodeIsSeen) {
  Liar liar({});
  liar.change_layout = [](Layout layout) {
    layout.add(1);
    return layout;
  };
  EXPECT_NE(chunk_of(liar).find("number of records"), std::string::npos);
  liar.change_layout = [](const Layout& layout) {
    Layout other(layout.first_begin() + 1);
    for (std::uint64_t i = 0; i < layout.records(); ++i) other.add(layout.extent(i).size);
    return other;
  };
  EXPECT_NE(chunk_of(liar).find("where record 0 stands"), std::string::npos);
  liar.change_layout = [](const Layout& layout) {
    Layout other(layout.first_begin());
    for (std::uint64_t i = 0; i < layout.records(); ++i) other.add_failed(layout.extent(i).size, Error{});
    return other;
  };
  EXPECT_NE(chunk_of(liar).find("decode forgets"), std::string::npos);
}

TEST(RulesTest, VerifyThatRefusesWhatDecodesIsSeen) {
  Liar liar({});
  liar.change_verify = [] { return Result<void>(Error{.code = Code::kDamage, .detail = "made up"}); };
  EXPECT_NE(chunk_of(liar).find("verify fails"), std::string::npos);
}

TEST(RulesTest, PartsThatCannotBeReadAreSeen) {
  Liar liar({});
  const Liar other({.record_size = [](std::uint64_t) { return std::size_t{21}; }});
  liar.parts_of = &other;
  EXPECT_NE(chunk_of(liar).find("decode_by_parts fails"), std::string::npos);
}

TEST(RulesTest, PartsOfARecordThatBreakTheirPromiseAreSeen) {
  Liar liar({});
  const Part slice{.key = "slice", .kind = PartKind::kSlice, .extent = {1, 19}};
  const auto says = [&](Result<Parts> parts) {
    liar.inside = std::move(parts);
    return chunk_of(liar);
  };
  EXPECT_EQ(says(Parts{{.key = "directory"}, slice}), "");
  EXPECT_EQ(says(Error{.code = Code::kDamage, .detail = "made up"}), "");
  EXPECT_NE(says(Error{.code = Code::kIo, .detail = "made up"}).find("hides what is in it"), std::string::npos);
  EXPECT_NE(says(Parts{{.key = "a", .parent = 0}}).find("before its directory"), std::string::npos);
  EXPECT_NE(says(Parts{slice, {.key = "b", .parent = 0}}).find("in a file"), std::string::npos);
  EXPECT_NE(says(Parts{{.kind = PartKind::kSlice, .extent = {1, 20}}}).find("leaves the record"), std::string::npos);
  EXPECT_NE(says(Parts{{.kind = PartKind::kSlice, .extent = {21, 0}}}).find("leaves the record"), std::string::npos);
}

TEST(RulesTest, ValuesThatBreakTheirPromiseAreSeen) {
  Liar liar({});
  liar.told = Value{Value::Object{{"a", {}}, {"b", {}}, {"", {}}, {"", {}}}};
  EXPECT_EQ(chunk_of(liar), "");
  liar.told = Value{Value::Object{{"a", {}}, {"a", {}}}};
  EXPECT_NE(chunk_of(liar).find("no right value"), std::string::npos);
  liar.told = Value{};
  for (int depth = 0; depth < 100; ++depth) {
    Value::List around;
    around.push_back(std::move(*liar.told));
    liar.told->is = std::move(around);
  }
  EXPECT_NE(chunk_of(liar).find("no right value"), std::string::npos);
}

TEST(RulesTest, ChangesThatBreakTheirPromiseAreSeen) {
  Liar liar({});
  liar.changes = {{.value = {1, 19}}};
  EXPECT_EQ(chunk_of(liar), "");
  liar.changes_fail = true;
  EXPECT_NE(chunk_of(liar).find("hands out changes and fails"), std::string::npos);
  liar.changes_fail = false;
  liar.changes = {{.value = {1, 1000}}};
  EXPECT_NE(chunk_of(liar).find("a value leaves record"), std::string::npos);
}

TEST(RulesTest, LocateThatMissesOrInventsIsSeen) {
  Liar liar({});
  const Walk walked = walk(liar, liar.size());
  const std::vector<Position> inside{first_chunk(liar).begin + 1};
  liar.change_locate = [](Position) { return std::optional<ChunkInfo>{}; };
  EXPECT_EQ(check_locate(liar, walked, inside).size(), 1u);
  liar.change_locate = [&](Position) { return std::optional(first_chunk(liar)); };
  EXPECT_EQ(check_locate(liar, walked, std::vector<Position>{0}).size(), 1u);
}

}  // namespace
}  // namespace recordfs::contract
