// Keys of a container whose records are lists of changes, read by a background thread.
#include "core/store/key_index.h"

#include <sstream>

#include <gtest/gtest.h>

#include "tests/unit/store/toy_store.h"

namespace recordfs::testing {
namespace {

using Kind = KeyChangeKind;

constexpr std::size_t kSmallest = 100;

// A toy container whose records are identified by their size. Each line of a script is a record: a list of changes
// separated by ";". Changes are "set KEY SIZE", where the value is the record's first bytes, "merge KEY", "delete KEY",
// "range KEY END", "begin", "prepare NAME", "commit NAME", "rollback NAME"; "broken" is an invalid record.
class Scripted final : public ForwardingContainer {
 public:
  Scripted(std::unique_ptr<Container> toy, std::vector<std::string> script)
      : ForwardingContainer(std::move(toy)), script_(std::move(script)) {}
  const RecordSchema& schema() const override { return schema_; }

 private:
  Result<void> key_changes(Bytes record, const TakeKeyChange& take) const {
    std::istringstream line(script_[record.size() - kSmallest]);
    for (std::string text; std::getline(line, text, ';');) {
      std::istringstream words(text);
      std::string verb, key, end;
      words >> verb >> key >> end;
      if (verb == "broken") return Error{.code = Code::kDamage, .detail = "no changes"};
      KeyChange change{.kind = kinds_.at(verb), .key = as_bytes(key), .end = as_bytes(end)};
      if (verb == "set") change.value = {0, std::stoull(end)};
      if (!take(change)) break;
    }
    return {};
  }

  const RecordSchema schema_{
      .key_changes = [this](Bytes record, const TakeKeyChange& take) { return key_changes(record, take); }};
  const std::vector<std::string> script_;
  const std::map<std::string, Kind> kinds_{
      {"set", Kind::kSet},     {"merge", Kind::kUnknown},   {"delete", Kind::kDelete}, {"range", Kind::kDeleteRange},
      {"begin", Kind::kBegin}, {"prepare", Kind::kPrepare}, {"commit", Kind::kCommit}, {"rollback", Kind::kRollback}};
};

struct KeyStore {
  explicit KeyStore(std::vector<std::string> script, KeyIndex::Bounds bounds = {}, toy::Shape shape = {}) {
    shape.chunks = script.size();
    shape.records_per_chunk = 1;
    shape.record_size = [](std::uint64_t ordinal) { return kSmallest + static_cast<std::size_t>(ordinal); };
    file = toy::make_file(shape);
    source = std::make_shared<ChangeableSource>(file.bytes);
    services.keys = bounds;
    auto toy = toy::open(source, Limits{}, watch).value();
    store = std::make_shared<RecordStore>("toy", source, std::make_unique<Scripted>(std::move(toy), std::move(script)),
                                          services);
  }

  Result<FoundKey> find(std::string_view key) {
    return waited([&] { return store->keys()->find(key_number(0, key)); });
  }
  // Returns the value or the failure.
  std::string value(std::string_view key) {
    const auto found = find(key);
    if (!found) return std::string(to_string(found.error().code));
    const auto read = waited([&] { return store->records().read_value({}, *found, 0, 1000); });
    return read ? text_of(*read) : std::string(to_string(read.error().code));
  }
  std::string record(std::size_t ordinal, std::size_t size) const { return file.records[ordinal].substr(0, size); }
  std::uint64_t decodes() const { return watch->decodes; }

  toy::File file;
  std::shared_ptr<ChangeableSource> source;
  std::shared_ptr<toy::Watch> watch = std::make_shared<toy::Watch>();
  Lines lines;
  Services services{1u << 20, 2, lines.log()};
  std::shared_ptr<RecordStore> store;
};

const std::string kNone(to_string(Code::kNotFound));

TEST(KeyIndex, ReturnsTheLastValues) {
  KeyStore keys({"set a 5;set b 6", "set a 7;delete b;set c 8", "merge d;set e 9;range e f"});
  EXPECT_EQ(keys.value("a"), keys.record(1, 7));
  EXPECT_EQ(keys.value("b"), kNone);
  EXPECT_EQ(keys.value("c"), keys.record(1, 8));
  EXPECT_EQ(keys.value("d"), to_string(Code::kUnsupported));
  EXPECT_EQ(keys.value("e"), kNone);
  const auto table = waited([&] { return keys.store->keys()->table(); });
  EXPECT_EQ((*table)->size(), 3u);
  EXPECT_EQ(keys.lines.all().size(), 1u) << "for the value that cannot be computed";
}

TEST(KeyIndex, PartsOfAValueAreRead) {
  KeyStore keys({"set a 20"});
  const auto found = keys.find("a").value();
  const auto read = [&](std::uint64_t offset, std::uint64_t length) {
    return text_of(*waited([&] { return keys.store->records().read_value({}, found, offset, length); }));
  };
  EXPECT_EQ(read(0, 4), keys.record(0, 4));
  EXPECT_EQ(read(15, 100), keys.record(0, 20).substr(15));
  EXPECT_EQ(read(20, 100), "");
}

TEST(KeyIndex, PreparedChangesApplyWhenTheirTransactionCommits) {
  KeyStore keys({"begin;set a 1;set b 2;prepare x;set c 3", "set a 4;begin;set d 5;prepare y",
                 "begin;set e 6;prepare x", "commit x;set b 7", "rollback y;commit y", "begin;set f 8",
                 "prepare z;commit z", "begin;set g 9;prepare w", "commit never"});
  EXPECT_EQ(keys.value("a"), keys.record(0, 1)) << "committed after the other";
  EXPECT_EQ(keys.value("b"), keys.record(3, 7));
  EXPECT_EQ(keys.value("c"), keys.record(0, 3));
  EXPECT_EQ(keys.value("d"), kNone);
  EXPECT_EQ(keys.value("e"), keys.record(2, 6)) << "the second section of its transaction";
  EXPECT_EQ(keys.value("f"), kNone) << "a section without an end";
  EXPECT_EQ(keys.value("g"), kNone) << "never committed";
}

TEST(KeyIndex, PreparedChangesBeyondTheLimitAreRefused) {
  KeyStore keys({"set a 1;begin;set b 1;set c 1;set d 1;prepare x"}, {.prepared_bytes = 200});
  EXPECT_EQ(keys.value("a"), to_string(Code::kLimit));
  ASSERT_EQ(keys.lines.all().size(), 1u);
  EXPECT_NE(keys.lines.all()[0].find("prepared"), std::string::npos);
}

TEST(KeyIndex, EndedTransactionsFreeTheirSpace) {
  std::vector<std::string> script;
  for (int i = 0; i < 50; ++i) {
    script.push_back("begin;set a 1;prepare x;commit x");
    script.push_back("begin;set b 1;prepare y;rollback y");
    script.push_back("begin;set b 1");
  }
  KeyStore keys(script, {.prepared_bytes = 500});
  EXPECT_EQ(keys.value("a"), keys.record(147, 1));
}

TEST(KeyIndex, UnlistedKeysAreStillFound) {
  KeyStore keys({"set a 1;set b 2;set c 3;set d 4", "set d 5;set e 6;delete c", "set f 7;range f g"},
                {.table = {.keys = 2}});
  const auto table = waited([&] { return keys.store->keys()->table(); });
  EXPECT_EQ((*table)->size(), 2u);
  EXPECT_TRUE((*table)->has_more());
  ASSERT_EQ(keys.lines.all().size(), 1u);
  EXPECT_NE(keys.lines.all()[0].find("the first 2 keys"), std::string::npos);
  EXPECT_EQ(keys.value("a"), keys.record(0, 1));
  EXPECT_EQ(keys.value("d"), keys.record(1, 5));
  EXPECT_EQ(keys.value("e"), keys.record(1, 6));
  EXPECT_EQ(keys.value("c"), kNone);
  EXPECT_EQ(keys.value("f"), kNone);
}

TEST(KeyIndex, LookupOfAnUnlistedKeyIsCached) {
  KeyStore keys({"set a 1;set b 2;set c 3"}, {.table = {.keys = 1}, .answers = 1});
  EXPECT_TRUE(keys.find("c"));
  const std::uint64_t decodes = keys.decodes();
  EXPECT_TRUE(keys.find("c"));
  EXPECT_EQ(keys.decodes(), decodes);
  EXPECT_FALSE(keys.find("z"));
  EXPECT_FALSE(keys.find("z"));
  EXPECT_EQ(keys.decodes(), decodes + 1);
  EXPECT_TRUE(keys.find("c"));
  EXPECT_EQ(keys.decodes(), decodes + 2);
}

TEST(KeyIndex, LookupOfAListedKeyDecodesNothing) {
  KeyStore keys({"set a 1;set b 2"});
  EXPECT_TRUE(keys.find("a"));
  const std::uint64_t decodes = keys.decodes();
  EXPECT_TRUE(keys.find("b"));
  EXPECT_FALSE(keys.find("c"));
  EXPECT_EQ(keys.decodes(), decodes);
}

TEST(KeyIndex, DamagedChunkIsSkippedAndReported) {
  KeyStore keys({"set a 1;set b 2", "set a 3", "broken", "delete b;set c 4"}, {}, {.broken_payloads = {1}});
  EXPECT_EQ(keys.value("a"), keys.record(0, 1));
  EXPECT_EQ(keys.value("b"), kNone);
  EXPECT_EQ(keys.value("c"), keys.record(3, 4));
  EXPECT_EQ(keys.lines.all().size(), 2u);
}

TEST(KeyIndex, TemporaryFailureIsRetried) {
  KeyStore keys({"set a 1"});
  keys.source->fail(1000000, bad_sector());
  EXPECT_EQ(keys.value("a"), to_string(Code::kIo));
  keys.source->fail(0, bad_sector());
  EXPECT_EQ(keys.value("a"), keys.record(0, 1));
}

TEST(KeyIndex, DestructionDuringAReadEnds) {
  Gate gate;
  KeyStore keys({"set a 1", "set b 2"});
  keys.watch->on_decode = [&](Position begin) { gate.pass(begin); };
  gate.close_from(keys.file.begins[1]);
  const auto found = keys.store->keys()->find(key_number(0, "a"));
  ASSERT_EQ(found.error().code, Code::kPending);
  const WaitTicket& ticket = *found.error().wait;
  const Signal resumed;
  const std::uint64_t wait_id = ticket.waitable->wait(ticket, [resumed] { resumed.set(); });
  ASSERT_NE(wait_id, 0u);
  gate.wait_until_held();
  EXPECT_TRUE(ticket.waitable->cancel(wait_id));
  EXPECT_FALSE(ticket.waitable->cancel(wait_id));
  gate.open();
  keys.store.reset();
}

TEST(KeyIndex, IsMissingWithoutKeys) {
  const ToyStore toy({});
  EXPECT_EQ(toy.store->keys(), nullptr);
}

}  // namespace
}  // namespace recordfs::testing
