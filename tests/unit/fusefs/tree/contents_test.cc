// The contents of the tree's files.
#include <algorithm>

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/fusefs/tree/toy_tree.h"

namespace recordfs::testing {
namespace {

using Json = nlohmann::json;
using Names = std::vector<std::string>;

std::string chunk_path(const ToyStore& toy, std::size_t chunk) {
  return ".views/chunks/" + position_name(toy.file.begins[chunk]);
}

TEST(Contents, InfoContainsWhatIsKnownWithoutAScan) {
  ToyStore toy({.chunks = 1000, .attributes = {{"comment", "text", "hello"}, {"bad \xff key", "", "\xff"}}});
  const ToyTree tree(toy);
  const Json info = Json::parse(tree.read("info.json"));
  EXPECT_EQ(info["format"], "toy");
  EXPECT_EQ(info["size"], toy.file.bytes.size());
  EXPECT_EQ(info["codec"], "none");
  EXPECT_EQ(info["first_chunk"]["begin"], toy.file.begins[0]);
  EXPECT_EQ(info["metadata"][0]["text"], "hello");
  EXPECT_EQ(info["metadata"][1]["size"], 1);
  EXPECT_FALSE(info["metadata"][1].contains("text"));
  EXPECT_LE(toy.watch->scans, 2u);
}

TEST(Contents, ChunkInfoContainsTheChecksumResult) {
  ToyStore toy({.broken_payloads = {1}, .unsupported = {2}});
  const ToyTree tree(toy);
  const Json good = Json::parse(tree.read(chunk_path(toy, 0) + "/info.json"));
  EXPECT_EQ(good["begin"], toy.file.begins[0]);
  EXPECT_EQ(good["end"], toy.file.ends[0]);
  EXPECT_EQ(good["records"], 3);
  EXPECT_EQ(good["checksum"], "good");
  const Json bad = Json::parse(tree.read(chunk_path(toy, 1) + "/info.json"));
  EXPECT_EQ(bad["checksum"], "bad");
  EXPECT_NE(bad["reason"].get<std::string>().find("payload check mismatch"), std::string::npos);
  EXPECT_EQ(Json::parse(tree.read(chunk_path(toy, 2) + "/info.json"))["checksum"], "unchecked");
}

TEST(Contents, ChunkInfoIsTheSameBeforeAndAfterTheScan) {
  ToyStore toy({.counts_in_header = false, .broken_payloads = {1}});
  const ToyTree tree(toy);
  Names before;
  for (std::size_t i = 0; i < 4; ++i) before.push_back(tree.read(chunk_path(toy, i) + "/info.json"));
  ASSERT_FALSE(toy.store->index().state().complete);
  ASSERT_TRUE(waited([&] { return toy.store->index().totals(ScanDetail::kCounts); }));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(tree.read(chunk_path(toy, i) + "/info.json"), before[i]);
}

TEST(Contents, UnreadableFileHasASizeAndFailsToRead) {
  ToyStore toy({.record_size = [](std::uint64_t) { return 0u; }, .broken_payloads = {1}, .unsupported = {2}});
  const ToyTree tree(toy);
  for (const char* name : {"/records/000000", "/data"}) {
    EXPECT_EQ(tree.status(chunk_path(toy, 1) + name).size, 1u);
    EXPECT_EQ(tree.read(chunk_path(toy, 1) + name), "error: damage");
    EXPECT_EQ(tree.read(chunk_path(toy, 2) + name), "error: unsupported");
  }
  EXPECT_EQ(tree.status(chunk_path(toy, 0) + "/records/000000").size, 0u);
}

TEST(Contents, DamageIsListedAndCountedAndItsBytesAreReadable) {
  ToyStore toy({.chunks = 8, .seekable = false, .broken_headers = {2, 3, 6}});
  const ToyTree tree(toy);
  const auto begin = [&](std::size_t chunk) { return std::to_string(toy.file.begins[chunk]); };
  const std::string why = "\t-\tdamage\tchunk header check mismatch\n";
  EXPECT_EQ(tree.read(".views/index/damage.tsv"), "begin\tend\tfirst_ordinal\trecords_lost\tclass\treason\n" +
                                                      begin(2) + "\t" + begin(4) + "\t6" + why + begin(6) + "\t" +
                                                      begin(7) + "\t12" + why);
  EXPECT_EQ(tree.names(".views/damage"), (Names{position_name(toy.file.begins[2]), position_name(toy.file.begins[6])}));
  EXPECT_EQ(tree.read(".views/damage/" + begin(2)),
            toy.file.bytes.substr(toy.file.begins[2], toy.file.begins[4] - toy.file.begins[2]));
  const Json summary = Json::parse(tree.read(".views/index/summary.json"));
  EXPECT_EQ(summary["chunks"], 5);
  EXPECT_EQ(summary["records"], 15);
  EXPECT_EQ(summary["damage_scope"], "headers");
  EXPECT_EQ(summary["damaged_regions"], 2);
  EXPECT_EQ(summary["damaged_bytes"],
            toy.file.begins[4] - toy.file.begins[2] + toy.file.begins[7] - toy.file.begins[6]);
}

TEST(Contents, MetadataWithEqualKeysHasAFileEach) {
  ToyStore toy({.attributes = {{"k", "", "first"}, {"k", "", "second"}, {"", "", ""}, {"names.tsv", "", "mine"}}});
  const ToyTree tree(toy);
  const Names names = tree.names("metadata");
  ASSERT_EQ(names.size(), 5u);
  EXPECT_EQ(names[0], "k");
  EXPECT_EQ(names[4], "names.tsv");
  EXPECT_EQ(tree.read("metadata/k"), "first");
  EXPECT_EQ(tree.read("metadata/" + names[1]), "second");
  EXPECT_EQ(tree.read("metadata/" + names[2]), "");
  EXPECT_EQ(tree.read("metadata/" + names[3]), "mine");
  EXPECT_EQ(tree.read("metadata/names.tsv"),
            "name\tkey\n" + names[1] + "\tk\n" + names[2] + "\t\n" + names[3] + "\tnames.tsv\n");
}

TEST(Contents, TrailerContainsItsBytes) {
  ToyStore toy({.trailer = "the end"});
  EXPECT_EQ(ToyTree(toy).read("trailer"), "the end");
  ToyStore empty({.trailer = ""});
  EXPECT_EQ(ToyTree(empty).status("trailer").size, 0u);
}

// A container whose trailer is unavailable.
class NoTrailer final : public ForwardingContainer {
 public:
  NoTrailer(std::unique_ptr<Container> toy, Code code)
      : ForwardingContainer(std::move(toy)), trailer_([code](const RequestContext&) -> Result<Buffer> {
          return Error{.code = code, .detail = "no trailer now"};
        }) {}
  const TrailerReader* trailer() const override { return &trailer_; }

 private:
  const TrailerReader trailer_;
};

TEST(Contents, UnreadableTrailerHasASizeOnlyIfTheFailureIsPermanent) {
  for (const Code code : {Code::kDamage, Code::kIo}) {
    ToyStore toy({});
    toy.store = std::make_shared<RecordStore>(
        "toy", toy.source, std::make_unique<NoTrailer>(toy::open(toy.source, Limits{}).value(), code), toy.services);
    const ToyTree tree(toy);
    const std::uint64_t number = tree.find("trailer").value();
    const auto status = tree->subtree(number).status({}, number);
    EXPECT_EQ(tree->subtree(number).read({}, number, 0, 1).error().code, code);
    EXPECT_EQ(status.has_value(), code == Code::kDamage);
    if (status) {
      EXPECT_EQ(status->size, 1u);
    }
  }
}

// A container whose chunk metadata is temporarily unavailable.
class Forgetful final : public ForwardingContainer, private Metadata {
 public:
  using ForwardingContainer::ForwardingContainer;
  const Metadata* metadata() const override { return this; }

 private:
  Result<std::vector<Attribute>> attributes_at(const RequestContext&, const ChunkInfo&) const override {
    return bad_sector();
  }
  Result<std::vector<Attribute>> attributes(const RequestContext&, const ChunkInfo*) const override {
    return bad_sector();
  }
};

TEST(Contents, TemporaryFailureFailsInfoInsteadOfBeingShown) {
  ToyStore toy({});
  toy.store = std::make_shared<RecordStore>(
      "toy", toy.source, std::make_unique<Forgetful>(toy::open(toy.source, Limits{}).value()), toy.services);
  const ToyTree tree(toy);
  for (const std::string& path : {std::string("info.json"), chunk_path(toy, 0) + "/info.json"}) {
    EXPECT_EQ(tree->subtree(tree.find(path).value()).status({}, tree.find(path).value()).error().code, Code::kIo)
        << path;
  }
  EXPECT_EQ(tree.child(tree.find("metadata").value(), "x").error().code, Code::kIo);
}

// States more records than its chunks have bytes.
class Crowded final : public ForwardingContainer {
 public:
  using ForwardingContainer::ForwardingContainer;
  Result<Step> scan(const RequestContext& context, ChunkKey at) const override {
    auto step = ForwardingContainer::scan(context, at);
    if (step && step->chunk) step->chunk->records = 1000000;
    return step;
  }
};

TEST(Contents, RecordWithoutANumberIsRefused) {
  ToyStore toy({.seekable = false});
  toy.store = std::make_shared<RecordStore>(
      "toy", toy.source, std::make_unique<Crowded>(toy::open(toy.source, Limits{}).value()), toy.services);
  const ToyTree tree(toy);
  const std::uint64_t size = toy.file.ends[0] - toy.file.begins[0];
  EXPECT_TRUE(tree.find("records/" + std::to_string(size - 1)));
  EXPECT_EQ(tree.find("records/" + std::to_string(size)).error().code, Code::kLimit);
}

}  // namespace
}  // namespace recordfs::testing
