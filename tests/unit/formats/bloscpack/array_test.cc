#include <gtest/gtest.h>

#include "core/formats/bloscpack/npy.h"
#include "core/store/record_store.h"
#include "tests/unit/formats/bloscpack/reading.h"
#include "tests/unit/formats/bloscpack/writer.h"
#include "tests/unit/support/signal.h"

namespace recordfs::bloscpack {
namespace {

std::string written_again(std::string_view literal) {
  const auto dtype = read_dtype(literal, 8);
  return dtype ? dtype->description + " " + std::to_string(dtype->size) : "refused";
}

TEST(BloscpackDtype, IsRewrittenInNumpySyntax) {
  EXPECT_EQ(written_again("'<f8'"), "'<f8' 8");
  EXPECT_EQ(written_again("<f8"), "'<f8' 8");
  EXPECT_EQ(written_again("'>u2'"), "'>u2' 2");
  EXPECT_EQ(written_again("'|b1'"), "'|b1' 1");
  EXPECT_EQ(written_again("'<U8'"), "'<U8' 32");
  EXPECT_EQ(written_again("'|S6'"), "'|S6' 6");
  EXPECT_EQ(written_again("'<M8[ns]'"), "'<M8[ns]' 8");
  EXPECT_EQ(written_again("[('id', '<i4'), ('v', '<f8'), ('s', '|S6')]"),
            "[('id', '<i4'), ('v', '<f8'), ('s', '|S6')] 18");
  EXPECT_EQ(written_again(R"([["id", "<i4"], ["v", "<f8", [2, 3]]])"), "[('id', '<i4'), ('v', '<f8', (2,3,))] 52");
  EXPECT_EQ(written_again("[('a', '<i4', (5,)), ('', '|V4')]"), "[('a', '<i4', (5,)), ('', '|V4')] 24");
  EXPECT_EQ(written_again("[(('title', 'name'), [('x', '<c16')])]"), "[(('title', 'name'), [('x', '<c16')])] 16");
  EXPECT_EQ(written_again(R"([('it\'s', '<i4')])"), R"([('it\'s', '<i4')] 4)");
  EXPECT_EQ(written_again(R"([("caf\xe9", '<i4')])"), "[('café', '<i4')] 4");
}

TEST(BloscpackDtype, NonPlainTypeIsRefused) {
  for (const char* literal : {"",
                              "'",
                              "'<f8",
                              "'f8'",
                              "'<f3'",
                              "'|O'",
                              "'<O8'",
                              "'<f8''",
                              "[]",
                              "[('a')]",
                              "[('a', '<i4'",
                              "('a', '<i4')",
                              "[('a', '<i4')] + [('b', '<i4')]",
                              "__import__('os')",
                              "'<V99999999999'",
                              "'<M8[;]'",
                              "'<i4' #",
                              "[('a\\n', '<i4')]",
                              "[('a', '|S2000000000', (2000000000, 2000000000))]",
                              "[[[[[[[[[[[[",
                              "'<i-4'"}) {
    EXPECT_EQ(written_again(literal), "refused") << literal;
  }
}

std::optional<NumpyArray> array_of(const std::string& metadata) {
  const auto json = read_json(as_bytes(metadata), 8, 100);
  return json ? find_array(*json, 8) : std::nullopt;
}

std::string numpy(const std::string& dtype, const std::string& shape, const std::string& order = "C") {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"order":")" + order + R"(","container":"numpy"})";
}

TEST(BloscpackNpy, HeaderIsAMultipleOf64BytesAndMatchesTheMetadata) {
  const std::string header = npy_header(*array_of(numpy("'<f8'", "[60, 100]")));
  EXPECT_EQ(header.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  EXPECT_EQ(header.size() % 64, 0u);
  EXPECT_EQ(header.back(), '\n');
  EXPECT_EQ(header.substr(10, 62), "{'descr': '<f8', 'fortran_order': False, 'shape': (60, 100), }");
}

TEST(BloscpackNpy, LastOneOfADuplicateKeyIsUsed) {
  const auto array = array_of(R"({"shape":[3],"dtype":"'<f8'","order":"C","container":"numpy","shape":[7]})");
  ASSERT_TRUE(array);
  EXPECT_EQ(array->shape, std::vector<std::uint64_t>{7});
}

TEST(BloscpackNpy, ShapesAreWrittenAsTuples) {
  const auto shape_in = [](const std::string& shape, const std::string& order) {
    const std::string header = npy_header(*array_of(numpy("'<i4'", shape, order)));
    return header.substr(header.find("'fortran"), header.find('}') - header.find("'fortran"));
  };
  EXPECT_EQ(shape_in("[]", "C"), "'fortran_order': False, 'shape': (), ");
  EXPECT_EQ(shape_in("[7]", "F"), "'fortran_order': True, 'shape': (7,), ");
  EXPECT_EQ(shape_in("[7,8]", "F"), "'fortran_order': True, 'shape': (7, 8), ");
}

TEST(BloscpackNpy, MetadataThatDescribesNoArrayYieldsNone) {
  for (const char* metadata :
       {"[]", "{}", "1", R"({"container":"numpy"})", R"({"dtype":"'<f8'","shape":[1],"order":"C"})"}) {
    EXPECT_FALSE(array_of(metadata)) << metadata;
  }
  EXPECT_FALSE(array_of(numpy("'<f8'", "[1]", "K")));
  EXPECT_FALSE(array_of(numpy("'<f8'", "[-1]")));
  EXPECT_FALSE(array_of(numpy("'<f8'", "[1.5]")));
  EXPECT_FALSE(array_of(numpy("'<f8'", "\"60\"")));
  EXPECT_FALSE(array_of(numpy("'<f8'", "[4611686018427387904, 4611686018427387904]")));
  EXPECT_TRUE(array_of(numpy("'<f8'", "[4611686018427387904, 0]")));
}

TEST(BloscpackJson, MembersAreSplitAndStringsDecoded) {
  const auto json =
      read_json(as_bytes(R"( {"a": "x\u00e9\ud83d\ude00\n", "b" : [1, {"c": null}], "d":-1.5e3, "e":NaN} )"), 8, 9);
  ASSERT_TRUE(json);
  ASSERT_EQ(json->members.size(), 4u);
  EXPECT_EQ(json->members[0].value, "x\xC3\xA9\xF0\x9F\x98\x80\n");
  EXPECT_EQ(json->members[1].value, R"([1, {"c": null}])");
  EXPECT_EQ(json->members[2].value, "-1.5e3");
  EXPECT_EQ(json->members[3].type, JsonType::kWord);
}

TEST(BloscpackJson, TreeHasAllValues) {
  const auto tree = read_json_tree(as_bytes(R"( {"a": [1, {"c": null}, "\u00e9"], "a": {}} )"), 8, 6);
  ASSERT_TRUE(tree);
  ASSERT_EQ(tree->values.size(), 2u);
  EXPECT_EQ(tree->values[1].key, "a");
  EXPECT_EQ(tree->values[1].type, JsonType::kObject);
  const JsonValue& list = tree->values[0];
  ASSERT_EQ(list.values.size(), 3u);
  EXPECT_EQ(list.values[0].text, "1");
  EXPECT_EQ(list.values[1].values[0].text, "null");
  EXPECT_EQ(list.values[2].text, "\xC3\xA9");
  EXPECT_EQ(tree->find("a"), &tree->values[1]);
  const auto members = read_json_tree(as_bytes(R"({"s": "text", "n": 12, "f": 1.5, "m": -1})"), 8, 6);
  ASSERT_TRUE(members);
  EXPECT_EQ(members->string("s"), "text");
  EXPECT_EQ(members->string("n"), "");
  EXPECT_EQ(members->number("n"), 12u);
  for (const char* name : {"s", "f", "m", "x"}) EXPECT_FALSE(members->number(name)) << name;
  EXPECT_FALSE(read_json_tree(as_bytes(R"( {"a": [1, {"c": null}, "\u00e9"], "a": {}} )"), 8, 5));
  EXPECT_FALSE(read_json_tree(as_bytes(std::string(100000, '[')), 100, 9));
}

TEST(BloscpackJson, InvalidJsonIsRefused) {
  for (const char* text : {"", " ", "{", "{\"a\"}", "{\"a\":}", "[1,]", "[1 2]", "tru", "\"a", "{} x", "{\"a\":1,}",
                           "\"\\q\"", "\"\\u12\""}) {
    EXPECT_FALSE(read_json(as_bytes(text), 8, 9)) << text;
  }
  EXPECT_FALSE(read_json(as_bytes(std::string(100000, '[')), 100, 9));
}

// --- through the store

constexpr std::size_t kChunksOfArray = 5;

FileShape array_file() {
  return {.chunk_size = 64, .last_chunk = 32, .metadata = numpy("'<f8'", "[36]"), .chunks = [] {
            auto chunks = plain_records(kChunksOfArray, 64);
            chunks.back() = plain_chunk(record(kChunksOfArray - 1, 32));
            return chunks;
          }()};
}

class ArrayStream : public ::testing::Test {
 protected:
  void open(const std::string& bytes) {
    auto source = std::make_shared<MemorySource>(Buffer::copy_of({}, as_bytes(bytes)).value());
    store_ = std::make_unique<RecordStore>("array", source, open_bytes(bytes), services_);
  }
  const std::optional<DenseArray>& stream() const { return store_->traits().array; }
  Result<std::string> read(std::uint64_t offset, std::uint64_t length) const {
    ASSIGN_OR_RETURN(const auto slice,
                     wait_for([&] { return store_->streams().read({}, Stream::kArray, offset, length); }));
    return std::string(as_text(slice.bytes));
  }

  StoreResources services_{1 << 20, 1, [](Severity, const std::string&) {}};
  std::unique_ptr<RecordStore> store_;
};

std::string whole_array() {
  std::string all;
  for (std::size_t i = 0; i < kChunksOfArray; ++i) all += record(i, i + 1 == kChunksOfArray ? 32 : 64);
  return all;
}

TEST_F(ArrayStream, ContainsTheHeaderAndAllRecordsAndHasTheExactSize) {
  open(make_file(array_file()).bytes);
  ASSERT_TRUE(stream());
  EXPECT_EQ(stream()->name, "array.npy");
  const std::string all = stream()->header + whole_array();
  EXPECT_EQ(stream()->size, all.size());
  EXPECT_EQ(*read(0, 10000), all);
  for (std::size_t at = 0; at < all.size(); at += 13) EXPECT_EQ(*read(at, 100), all.substr(at, 100)) << at;
  EXPECT_EQ(*read(all.size(), 10), "");
}

TEST_F(ArrayStream, LostChunkFailsAtItsOffsetAndShiftsNothing) {
  MadeFile file = make_file(array_file());
  file.bytes[file.begins[2]] = 9;
  open(file.bytes);
  const std::size_t prefix = stream()->header.size();
  const std::string all = whole_array();
  EXPECT_EQ(*read(prefix, 128), all.substr(0, 128));
  EXPECT_EQ(read(prefix + 127, 2).error().code, Code::kDamage);
  EXPECT_EQ(read(prefix + 150, 2).error().code, Code::kDamage);
  EXPECT_EQ(*read(prefix + 192, 1000), all.substr(192));
}

TEST_F(ArrayStream, ChunkOfAnotherSizeFailsAtItsOffsetAndShiftsNothing) {
  FileShape shape = array_file();
  shape.chunks[1] = plain_chunk(record(1, 56));
  open(make_file(shape).bytes);
  const std::size_t prefix = stream()->header.size();
  EXPECT_EQ(read(prefix + 64, 8).error().code, Code::kDamage);
  EXPECT_EQ(*read(prefix + 128, 64), record(2, 64));
}

TEST_F(ArrayStream, EndOfATruncatedFileFailsInsteadOfAShortRead) {
  const MadeFile file = make_file(array_file());
  open(file.bytes.substr(0, file.begins[3]));
  const std::size_t prefix = stream()->header.size();
  EXPECT_EQ(stream()->size, prefix + 288);
  EXPECT_EQ(*read(prefix, 192), whole_array().substr(0, 192));
  EXPECT_EQ(read(prefix + 192, 1).error().code, Code::kDamage);
}

TEST_F(ArrayStream, IsMissingIfShapeOrTypeContradictTheSize) {
  for (const char* shape : {"[35]", "[37]", "[44]", "[]"}) {
    FileShape file = array_file();
    file.metadata = numpy("'<f8'", shape);
    open(make_file(file).bytes);
    EXPECT_FALSE(stream()) << shape;
    const auto facts = store_->traits().facts;
    EXPECT_EQ(facts.back().name, "no_array") << shape;
  }
  for (const char* type : {"'|O'", "'<q9'", "{}"}) {
    FileShape file = array_file();
    file.metadata = numpy(type, "[36]");
    open(make_file(file).bytes);
    EXPECT_FALSE(stream()) << type;
    const auto facts = store_->traits().facts;
    EXPECT_EQ(facts.back().name, "no_array") << type;
  }
  FileShape unknown = array_file();
  unknown.chunk_size = -1;
  open(make_file(unknown).bytes);
  EXPECT_FALSE(stream());
}

TEST_F(ArrayStream, EmptyArrayConsistsOfItsHeader) {
  open(make_file({.chunk_size = 0, .last_chunk = 0, .metadata = numpy("'<f8'", "[0]"), .chunks = {plain_chunk("")}})
           .bytes);
  ASSERT_TRUE(stream());
  EXPECT_EQ(*read(0, 1000), stream()->header);
}

TEST(BloscpackMetadata, IsShownAsAWholeAndMemberByMember) {
  const auto container = open_bytes(make_file(array_file()).bytes);
  const auto attributes = container->metadata()->attributes({}, nullptr);
  ASSERT_TRUE(attributes);
  ASSERT_EQ(attributes->size(), 5u);
  EXPECT_EQ((*attributes)[0].key, "metadata.json");
  EXPECT_EQ((*attributes)[1].key, "dtype");
  EXPECT_EQ((*attributes)[1].value, "'<f8'");
  EXPECT_EQ((*attributes)[2].value, "[36]");
}

TEST(BloscpackMetadata, DamagedMetadataLosesNoRecord) {
  MadeFile file = make_file(array_file());
  file.bytes[70] = '!';
  const auto container = open_bytes(file.bytes);
  EXPECT_EQ(container->metadata()->attributes({}, nullptr).error().code, Code::kDamage);
  EXPECT_FALSE(container->traits().array);
  EXPECT_EQ(read_all(*container).records.size(), kChunksOfArray);
}

TEST(BloscpackMetadata, NonJsonMetadataIsShownUnchanged) {
  FileShape shape = array_file();
  shape.metadata = "no json";
  const auto attributes = open_bytes(make_file(shape).bytes)->metadata()->attributes({}, nullptr);
  ASSERT_EQ(attributes->size(), 1u);
  EXPECT_EQ((*attributes)[0].key, "metadata");
  EXPECT_EQ((*attributes)[0].value, "no json");
}

}  // namespace
}  // namespace recordfs::bloscpack
