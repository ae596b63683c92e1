// The JSON files of records.
#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/decoding/json_writer.h"
#include "tests/unit/fusefs/tree/toy_tree.h"

namespace recordfs::testing {
namespace {

using nlohmann::json;
using Names = std::vector<std::string>;

// A container whose records are values, except for those that a test declares invalid.
class Decodable : public ForwardingContainer {
 public:
  Decodable(std::unique_ptr<Container> toy, std::string untold)
      : ForwardingContainer(std::move(toy)), untold_(std::move(untold)) {
    schema_ = {.value = [this](Bytes record, ValueForm) { return value(record); }, .may_be_message = false};
  }
  const RecordSchema& schema() const override { return schema_; }

 protected:
  RecordSchema schema_;

 private:
  Result<Value> value(Bytes record) const {
    if (as_text(record) == untold_) return Error{.code = Code::kDamage, .detail = "not told"};
    Value value;
    value.is.emplace<Value::Object>().push_back({"says", {record}});
    return value;
  }

  const std::string untold_;
};

// The same, but each chunk has one record that is too large to be decoded. Its bytes cannot be read.
class Enormous final : public Decodable {
 public:
  static constexpr std::uint64_t kSize = 129u << 20;

  explicit Enormous(std::unique_ptr<Container> toy) : Decodable(std::move(toy), {}) {}
  Result<Layout> layout(const RequestContext& context, const ChunkInfo&) const override {
    Layout layout;
    layout.add(context, kSize);
    return layout;
  }
  Result<std::shared_ptr<const Chunk>> decode(const RequestContext& context, const ChunkInfo& chunk) const override {
    ASSIGN_OR_RETURN(auto all, layout(context, chunk));
    return std::shared_ptr<const Chunk>(std::make_shared<Unread>(std::move(all)));
  }

 private:
  struct Unread final : Chunk {
    using Chunk::Chunk;
    std::uint64_t payload_size() const override { return kSize; }
    Result<Slice> read(const RequestContext&, std::uint64_t, std::uint64_t) const override {
      return Error{.code = Code::kIo, .detail = "read"};
    }
    std::uint64_t memory() const override { return 1; }
  };
};

// Decodable with parts.
class DecodableWithParts final : public Decodable {
 public:
  DecodableWithParts(std::unique_ptr<Container> toy, Parts parts) : Decodable(std::move(toy), {}) {
    schema_.parts = RecordSchema::Parts::kRequired;
    schema_.value = [as_json = schema_.value, parts = std::move(parts)](Bytes record, ValueForm form) {
      return form == ValueForm::kParts ? value_of(parts, record) : as_json(record, form);
    };
  }
};

// A container that states a type of its records, unless reading it fails.
class Typed final : public ForwardingContainer, private Metadata {
 public:
  Typed(std::unique_ptr<Container> toy, const std::optional<Error>& failure)
      : ForwardingContainer(std::move(toy)), failure_(failure) {}
  const Metadata* metadata() const override { return this; }

 private:
  Result<std::vector<Attribute>> attributes(const RequestContext&, const ChunkInfo*) const override {
    return std::vector<Attribute>{};
  }
  Result<std::string_view> record_type(const RequestContext&) const override {
    if (failure_) return *failure_;
    return std::string_view("a.Type");
  }

  const std::optional<Error>& failure_;
};

struct DecodedStore : ToyStore {
  explicit DecodedStore(toy::Shape shape, const std::string& untold = "") : ToyStore(std::move(shape)) {
    wrap([&](auto container) { return std::make_unique<Decodable>(std::move(container), untold); });
  }
  DecodedStore(toy::Shape shape, Parts parts) : ToyStore(std::move(shape)) {
    wrap([&](auto container) { return std::make_unique<DecodableWithParts>(std::move(container), std::move(parts)); });
  }

 private:
  template <class Wrap>
  void wrap(Wrap wrapped) {
    store = std::make_shared<RecordStore>("toy", source, wrapped(toy::open(source, Limits{}, watch).value()), services);
  }
};

std::string chunk_of(const ToyStore& toy, std::size_t chunk) {
  return ".views/chunks/" + position_name(toy.file.begins[chunk]);
}

std::vector<json> lines_of(const std::string& text) {
  std::vector<json> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    EXPECT_NE(end, std::string::npos);
    lines.push_back(json::parse(text.substr(at, end - at)));
    at = end == std::string::npos ? text.size() : end + 1;
  }
  return lines;
}

TEST(Documents, TemporaryFailureOfTheRecordTypeIsReportedAndNotCached) {
  ToyStore toy({.chunks = 2});
  std::optional<Error> failure = Error{.code = Code::kIo, .detail = "a passing error"};
  toy.store = std::make_shared<RecordStore>(
      "toy", toy.source, std::make_unique<Typed>(toy::open(toy.source, Limits{}, toy.watch).value(), failure),
      toy.services);
  const ToyTree tree(toy);
  const auto failed = tree.find("records/0.json");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::kIo);
  failure.reset();
  EXPECT_EQ(json::parse(tree.read("records/0.json"))["type"], "a.Type");
}

TEST(Documents, AreFoundNextToRecordsButNotListed) {
  DecodedStore toy({.chunks = 8});
  const ToyTree tree(toy);
  const auto number = tree.find("records/000000004.json").value();
  EXPECT_EQ(tree.read(number), "{\n  \"says\": \"" + toy.file.records[4] + "\"\n}\n");
  EXPECT_EQ(tree.status(number).size, tree.read(number).size());
  for (const std::string& name : {std::string("records/4.json"), std::string(".views/thousands/000000/000000004.json"),
                                  chunk_of(toy, 1) + "/records/000001.json", chunk_of(toy, 1) + "/records/1.json"}) {
    EXPECT_EQ(tree.find(name).value(), number) << name;
  }
  EXPECT_EQ(tree.names("records").size(), 24u);
  EXPECT_EQ(tree.names(chunk_of(toy, 1) + "/records"), (Names{"000000", "000001", "000002"}));
  for (const char* name : {"records/24.json", "records/.json", "records/x.json", "records/4.json.json",
                           "records/4.JSON", ".views/thousands/000001/4.json", "info.json.json"}) {
    EXPECT_FALSE(tree.exists(name)) << name;
  }
}

TEST(Documents, OfTooLargeRecordsAreErrorsInJson) {
  ToyStore toy({.chunks = 1, .records_per_chunk = 1, .counts_in_header = false});
  toy.store = std::make_shared<RecordStore>(
      "toy", toy.source, std::make_unique<Enormous>(toy::open(toy.source, Limits{}, toy.watch).value()), toy.services);
  const ToyTree tree(toy);
  EXPECT_EQ(tree.read("records/0.json"), "{\n  \"error\": \"135266304 bytes, too large to decode\"\n}\n");
}

TEST(Documents, AreMissingIfNothingIsDecoded) {
  ToyStore toy({});
  const ToyTree tree(toy);
  EXPECT_FALSE(tree.exists("records/1.json"));
  EXPECT_FALSE(tree.exists(chunk_of(toy, 1) + "/records/1.json"));
}

TEST(Documents, AreNamedAfterTheirRecords) {
  DecodedStore toy({});
  const ToyTree tree(toy, ".pb");
  const auto number = tree.find("records/000000004.pb.json").value();
  EXPECT_EQ(tree.find("records/4.json").value(), number);
  EXPECT_EQ(tree.find("records/4.pb.json").value(), number);
  EXPECT_FALSE(tree.exists("records/4.json.pb"));
  const ToyTree same(toy, ".json");
  EXPECT_EQ(same.read("records/000000004.json"), toy.file.records[4]);
  EXPECT_EQ(same.read("records/4"), toy.file.records[4]);
  EXPECT_EQ(json::parse(same.read("records/000000004.json.json"))["says"], toy.file.records[4]);
}

TEST(Documents, OfUnreadableRecordsFailWithTheSameError) {
  DecodedStore toy({.broken_payloads = {1}, .unsupported = {2}, .unreadable_records = {1}});
  const ToyTree tree(toy);
  for (const auto& [ordinal, word] :
       std::vector<std::pair<int, std::string>>{{1, "damage"}, {4, "damage"}, {7, "unsupported"}}) {
    const std::string name = "records/" + std::to_string(ordinal) + ".json";
    EXPECT_EQ(tree.status(name).size, 1u);
    EXPECT_EQ(tree.read(name), "error: " + word);
  }
  EXPECT_EQ(json::parse(tree.read("records/2.json"))["says"], toy.file.records[2]);
}

TEST(Documents, ContainTheReasonIfARecordCannotBeDecoded) {
  const std::string untold = toy::make_file({}).records[5];
  DecodedStore toy({}, untold);
  const ToyTree tree(toy);
  EXPECT_EQ(json::parse(tree.read("records/5.json")), (json{{"error", "not told"}}));
  EXPECT_EQ(lines_of(tree.read(chunk_of(toy, 1) + "/records.jsonl"))[2],
            (json{{"ordinal", 5}, {"index", 2}, {"size", untold.size()}, {"text", untold}, {"error", "not told"}}));
}

TEST(Documents, HaveJsonAsTheirMimeType) {
  DecodedStore toy({});
  const ToyTree tree(toy);
  for (const auto& [path, type] : std::vector<std::pair<std::string, std::string>>{
           {"records/1.json", "application/json"}, {chunk_of(toy, 0) + "/records.jsonl", "application/x-ndjson"}}) {
    const auto number = tree.find(path).value();
    EXPECT_EQ(tree->subtree(number).extended_names({}, number), std::string("user.mime_type\0", 15));
    EXPECT_EQ(tree->subtree(number).extended_attribute({}, number, "user.mime_type").value(), type);
    EXPECT_FALSE(tree->subtree(number).extended_attribute({}, number, "user.recordfs.ordinal"));
  }
}

TEST(RecordsOfAChunk, AreOneLineEach) {
  DecodedStore toy({.broken_headers = {1}});
  const ToyTree tree(toy);
  const auto number = tree.find(chunk_of(toy, 2) + "/records.jsonl").value();
  const std::string text = tree.read(number);
  EXPECT_EQ(tree.status(number).size, text.size());
  const auto lines = lines_of(text);
  ASSERT_EQ(lines.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string& record = toy.file.records[6 + i];
    EXPECT_EQ(lines[i], (json{{"ordinal", 3 + i},
                              {"index", i},
                              {"size", record.size()},
                              {"text", record},
                              {"decoded", {{"says", record}}}}));
  }
}

TEST(RecordsOfAChunk, AreListedWithoutADecode) {
  DecodedStore toy({.small_layout = false});
  const ToyTree tree(toy);
  const auto listing = tree.list(tree.find(chunk_of(toy, 1)).value());
  EXPECT_EQ(listing.back().first, "records.jsonl");
  EXPECT_EQ(listing.back().second.size, std::nullopt);
  EXPECT_EQ(listing.back().second.number, tree.find(chunk_of(toy, 1) + "/records.jsonl").value());
  EXPECT_EQ(toy.watch->decodes, 0u);
  EXPECT_FALSE(tree.read(chunk_of(toy, 1) + "/records.jsonl").empty());
  EXPECT_EQ(toy.watch->decodes, 1u);
}

TEST(RecordsOfAChunk, UnreadableRecordsHaveALineToo) {
  DecodedStore toy({.chunks = 5, .broken_payloads = {1}, .unsupported = {2}, .unreadable_records = {1}});
  const ToyTree tree(toy);
  const auto first = lines_of(tree.read(chunk_of(toy, 0) + "/records.jsonl"));
  EXPECT_EQ(first.at(0)["text"], toy.file.records[0]);
  EXPECT_EQ(first.at(1).size(), 3u);
  EXPECT_FALSE(first.at(1)["error"].get<std::string>().empty());
  EXPECT_EQ(first.at(2)["text"], toy.file.records[2]);
  for (const std::size_t chunk : {1u, 2u}) {
    const auto lines = lines_of(tree.read(chunk_of(toy, chunk) + "/records.jsonl"));
    ASSERT_EQ(lines.size(), 3u);
    EXPECT_EQ(lines[2]["ordinal"], 3 * chunk + 2);
    EXPECT_EQ(lines[2]["index"], 2);
    EXPECT_FALSE(lines[2]["error"].get<std::string>().empty());
  }
}

TEST(RecordsOfAChunk, OfUnknownNumberAreOneErrorLine) {
  DecodedStore toy({.counts_in_header = false, .broken_payloads = {1}});
  const ToyTree tree(toy);
  const auto lines = lines_of(tree.read(chunk_of(toy, 1) + "/records.jsonl"));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0]["chunk"], toy.file.begins[1]);
  EXPECT_FALSE(lines[0]["error"].get<std::string>().empty());
}

TEST(RecordsOfAChunk, ChunkWithoutRecordsHasNoLines) {
  DecodedStore toy({.records_per_chunk = 0});
  const ToyTree tree(toy);
  EXPECT_EQ(tree.status(chunk_of(toy, 0) + "/records.jsonl").size, 0u);
}

TEST(RecordsOfAChunk, AreReadInAnyPieces) {
  const auto size = [](std::uint64_t ordinal) -> std::size_t { return ordinal == 700 ? 300000 : ordinal % 500; };
  for (const bool by_parts : {false, true}) {
    DecodedStore toy({.chunks = 2, .records_per_chunk = 2000, .record_size = size, .by_parts = by_parts});
    const ToyTree tree(toy);
    const auto number = tree.find(chunk_of(toy, 0) + "/records.jsonl").value();
    const std::string whole = tree.read(number);
    const auto lines = lines_of(whole);
    ASSERT_EQ(lines.size(), 2000u);
    for (std::size_t i = 0; i < lines.size(); ++i) ASSERT_EQ(lines[i]["text"], toy.file.records[i]);
    ASSERT_GT(whole.size(), std::size_t{1} << 20);
    std::string pieces;
    for (std::size_t i = 0; pieces.size() < whole.size(); ++i) {
      const std::size_t length = 1 + i * 7919 % 100000;
      pieces += text_of(waited([&] { return tree->subtree(number).read({}, number, pieces.size(), length); }).value());
    }
    EXPECT_EQ(pieces, whole);
    for (std::size_t i = 0; i < 200; ++i) {
      const std::size_t offset = i * 104729 % whole.size();
      const auto piece = waited([&] { return tree->subtree(number).read({}, number, offset, 5000); });
      ASSERT_EQ(text_of(piece.value()), whole.substr(offset, 5000));
    }
  }
}

TEST(RecordsOfAChunk, NonTextRecordsAreBase64) {
  DecodedStore toy({});
  const ToyTree tree(toy);
  for (const auto& line : lines_of(tree.read(chunk_of(toy, 0) + "/records.jsonl")))
    EXPECT_FALSE(line.contains("base64"));
  const toy::Shape binary{.parts = [](std::uint64_t) {
    return std::vector<toy::PartShape>{{.key = "\xff", .kind = PartKind::kSlice, .bytes = "\xfe"}};
  }};
  ToyStore other(binary);
  const ToyTree other_tree(other);
  const auto lines = lines_of(other_tree.read(chunk_of(other, 0) + "/records.jsonl"));
  std::string encoded;
  append_base64(encoded, as_bytes(other.file.records[1]));
  EXPECT_EQ(lines.at(1)["base64"], encoded);
  EXPECT_FALSE(lines.at(1).contains("text"));
}

TEST(RecordsOfAChunk, WaitForTheCatalogToCountEarlierRecords) {
  Gate gate;  // outlives the scan
  DecodedStore toy({.chunks = 6});
  toy.watch->on_scan = [&](Position begin) { gate.pass(begin); };
  const ToyTree tree(toy);
  const auto number = tree.find(chunk_of(toy, 4) + "/records.jsonl").value();
  ASSERT_FALSE(tree.names(chunk_of(toy, 4)).empty()) << "the chunk itself is found without the catalog";
  gate.close_from(toy.file.begins[2]);
  EXPECT_EQ(lines_of(tree.read(chunk_of(toy, 1) + "/records.jsonl")).at(0)["ordinal"], 3);
  gate.wait_until_held();
  EXPECT_EQ(tree->subtree(number).status({}, number).error().code, Code::kPending);
  gate.open();
  EXPECT_EQ(lines_of(tree.read(number)).at(0)["ordinal"], 12);
}

TEST(RecordsOfAChunk, AreReadableAfterATemporaryFailure) {
  const toy::File file = toy::make_file({});
  ToyStore toy({});
  const auto source = std::make_shared<ChangeableSource>(file.bytes);
  toy.store = std::make_shared<RecordStore>("toy", source, toy::open(source, Limits{}).value(), toy.services);
  const ToyTree tree(toy);
  const auto number = tree.find(chunk_of(toy, 1) + "/records.jsonl").value();
  ASSERT_FALSE(tree.read(chunk_of(toy, 3) + "/records.jsonl").empty()) << "the catalog has scanned it";
  source->fail(1, {.code = Code::kIo, .detail = "a bad day"});
  EXPECT_EQ(tree->subtree(number).status({}, number).error().code, Code::kIo);
  EXPECT_EQ(lines_of(tree.read(number)).size(), 3u);
}

// Messages with and without a type, one of them with the name of another one's JSON.
Parts messages() {
  const auto slice = [](std::string key, std::optional<std::size_t> parent, std::string type) {
    return Part{
        .key = std::move(key), .parent = parent, .kind = PartKind::kSlice, .extent = {3, 4}, .type = std::move(type)};
  };
  return {slice("a", {}, "toy.A"),     slice("b", {}, ""),
          Part{.key = "in"},           slice("a", 2, "toy.B"),
          slice("a.json", 2, "toy.A"), slice("7", 2, "toy.A"),
          slice("x/y", 2, "toy.A"),    Part{.key = "text", .kind = PartKind::kText, .text = "t"}};
}

TEST(DocumentsOfParts, AreFoundNextToMessagesButNotListed) {
  DecodedStore toy({}, messages());
  const ToyTree tree(toy);
  const std::string top = ".views/inside/000000004/";
  EXPECT_EQ(tree.names(".views/inside/000000004"), (Names{"a", "b", "in", "text"}));
  EXPECT_EQ(tree.names(top + "in"), (Names{"a", "a.json", "7", "x%2Fy", "names.tsv"}));
  for (const auto& [name, type] : std::vector<std::pair<std::string, std::string>>{
           {"a.json", "toy.A"}, {"in/7.json", "toy.A"}, {"in/a.json.json", "toy.A"}, {"in/x%2Fy.json", "toy.A"}}) {
    const auto number = tree.find(top + name).value();
    const std::string text = tree.read(number);
    EXPECT_EQ(json::parse(text)["type"], type) << name;
    EXPECT_TRUE(text.ends_with("\n"));
    EXPECT_EQ(tree.status(number).size, text.size());
    EXPECT_EQ(tree.status(number).type, FileType::kRegular);
    EXPECT_EQ(tree.find(top + name).value(), number);
  }
  EXPECT_EQ(tree.read(top + "in/a.json"), toy.file.records[4].substr(3, 4)) << "the existing owner keeps the name";
  for (const char* name :
       {"b.json", "in.json", "text.json", "c.json", "in/names.tsv.json", "in/7.json.json", ".json", "in/7.json/x"}) {
    EXPECT_FALSE(tree.exists(top + name)) << name;
  }
}

TEST(DocumentsOfParts, OfDifferentRecordsHaveDifferentNumbers) {
  DecodedStore toy({.chunks = 20}, messages());
  const ToyTree tree(toy);
  std::set<std::uint64_t> numbers, inodes;
  for (std::uint64_t i = 0; i < 60; ++i) {
    const std::string top = ".views/inside/" + record_name(i);
    for (const char* name : {"/a", "/a.json"}) {
      numbers.insert(tree.find(top + name).value());
      inodes.insert(tree.status(top + name).inode);
    }
  }
  EXPECT_EQ(numbers.size(), 120u);
  EXPECT_EQ(inodes.size(), 120u);
}

TEST(DocumentsOfParts, OfASliceBeyondTheRecordFail) {
  Parts parts = messages();
  parts[0].extent.size = 1000;
  DecodedStore toy({}, parts);
  const ToyTree tree(toy);
  EXPECT_EQ(tree->subtree(tree.find(".views/inside/000000004/a.json").value())
                .status({}, tree.find(".views/inside/000000004/a.json").value())
                .error()
                .code,
            Code::kChanged);
}

}  // namespace
}  // namespace recordfs::testing
