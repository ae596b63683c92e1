// The fuzz target of record decoding: any descriptors, types, messages and values become valid JSON within their
// limits.
//
// An input is a message, so that it can be mutated field by field:
//
//   bytes descriptors = 1;        a FileDescriptorSet
// of the messages; default: the first type in the set
//   repeated bytes message = 3;   records
// the limits, and how the type is given
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/utf8.h"
#include "core/decoding/descriptor_set.h"
#include "core/decoding/protobuf_module.h"
#include "core/decoding/record_decoder.h"
#include "tests/fuzz/expect.h"
#include "tests/fuzz/message_mutator.h"
#include "tests/fuzz/random_value.h"
#include "tests/fuzz/target.h"
#include "tests/unit/decoding/typed_records.h"

namespace recordfs::fuzz {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostMessages = 8;
constexpr std::size_t kMostTypes = 8;            // of a set, each tried on each message
constexpr std::uint64_t kLongestError = 2000;    // of the text that replaces an output that is too long
constexpr std::uint64_t kMostNesting = 256 + 2;  // limit of jq

struct Case {
  std::shared_ptr<std::string> descriptors = std::make_shared<std::string>();
  std::string type{};
  std::vector<Bytes> messages{};
  std::uint64_t options = 0;

  std::uint64_t budget() const { return (options & 1) != 0 ? 100 : (options & 2) != 0 ? 4000 : 1u << 20; }
};

Case case_of(Bytes input) {
  Case found;
  for (const FieldPlace& place : fields_of(input)) {
    const Bytes content = input.subspan(place.content, place.end - place.content);
    if (place.field.is(1, protobuf::WireType::kLengthDelimited)) *found.descriptors = as_text(content);
    if (place.field.is(2, protobuf::WireType::kLengthDelimited)) found.type = as_text(content);
    if (place.field.is(3, protobuf::WireType::kLengthDelimited) && found.messages.size() < kMostMessages) {
      found.messages.push_back(content);
    }
    if (place.field.is(4, protobuf::WireType::kVarint)) found.options = place.field.value;
  }
  return found;
}

// Returns the nesting depth of a text, counted like parsers with a depth limit do.
std::uint64_t nesting_of(const Json& json) {
  std::uint64_t deepest = 0;
  if (json.is_structured()) {
    for (const Json& below : json) deepest = std::max(deepest, nesting_of(below));
  }
  return deepest + (json.is_object() ? 2 : json.is_array() ? 1 : 0);
}

void expect_json(const std::string& text, std::uint64_t most, const std::string& what) {
  expect(text.size() <= most, fmt::format("{} takes {} bytes, but the limit is {}", what, text.size(), most));
  const Json json = Json::parse(text, nullptr, false);
  expect(!json.is_discarded(), what + " is not valid JSON");
  expect(nesting_of(json) <= kMostNesting, what + " is nested too deep for JSON readers");
}

void check_fields(Bytes message) {
  constexpr std::uint32_t kDepth = 20;
  for (const std::uint64_t most : {100u, 1u << 20}) {
    std::string text;
    JsonWriter writer(text, JsonLayout::kLine, most);
    write_fields(writer, message, kDepth);
    expect(text.size() <= most, "the fields exceed their size limit");
    if (!writer.is_full()) expect_json(text, most, "a list of fields");
  }
  static_cast<void>(is_message(message, kDepth));
}

// Checks what can be computed from the descriptor set without libprotobuf.
std::vector<std::string> check_set(const std::string& bytes) {
  const auto set = read_descriptor_set(as_bytes(bytes));
  if (!set) {
    expect_judgement(set.error());
    return {};
  }
  auto order = set->in_order_of_imports();
  std::ranges::sort(order);
  for (std::size_t i = 0; i < order.size(); ++i) expect(order[i] == i, "a file of a set is left out, or built twice");
  expect(order.size() == set->files.size(), "not all files of a set are in order");
  expect(set->memory <= DescriptorLimits{}.memory, "a set exceeds its memory limit");
  for (const std::string& type : set->types) expect(set->has_type(type), "a type of a set is not in it");
  for (const DescriptorFile& file : set->files) {
    expect(!file.has_source_info || without_source_info(file).size() < file.content.size(),
           "removing the source info does not shorten a file");
  }
  std::vector<std::string> types = set->types;
  types.resize(std::min(types.size(), kMostTypes));
  return types;
}

void check_decoder(const testing::TypedRecords& records, const Case& input, UserTypes user_types) {
  const RecordDecoder decoder(records.schema, &records, std::move(user_types), input.budget());
  const ChunkInfo chunk;
  for (const Bytes record : input.messages) {
    std::string line = R"({"size":1)";
    const std::size_t before = line.size();
    if (const auto appended = decoder.append_members({}, line, chunk, record); !appended) {
      expect_judgement(appended.error());
      expect(line.size() == before, "an abandoned line was started");
    }
    expect_json(line + "}", before + std::max(input.budget(), kLongestError) + 1, "a line");
    const auto document = decoder.document({}, chunk, record);
    if (document) {
      expect_json(*document, input.budget() + 1, "a document");
    } else {
      expect_judgement(document.error());
    }
  }
}

void check_types(const Case& input, const std::string& type) {
  testing::TypedRecords records;
  records.type = type;
  records.descriptors_at = [&](const ChunkInfo&) -> Result<std::shared_ptr<const std::string>> {
    return std::shared_ptr<const std::string>(input.descriptors);
  };
  check_decoder(records, input, {});
}

// Checks values of any form that contain messages.
void check_values(const Case& input, const std::string& type) {
  testing::TypedRecords records;
  records.descriptors_at = [&](const ChunkInfo&) -> Result<std::shared_ptr<const std::string>> {
    return std::shared_ptr<const std::string>(input.descriptors);
  };
  records.schema.value = [&](Bytes record, ValueForm) -> Result<Value> { return random_value(record, type); };
  check_decoder(records, input, {});
}

void check_given(const Case& input) {
  auto given = user_types(*input.descriptors, input.type);
  if (!given) return expect_judgement(given.error());
  check_decoder(testing::TypedRecords{}, input, std::move(*given));
}

void run_decoding_input(Bytes input) {
  static const bool has_library = !protobuf_version().empty();
  expect(has_library, "the libprotobuf module is not available");
  const Case found = case_of(input);
  auto types = check_set(*found.descriptors);
  if (!found.type.empty()) types.insert(types.begin(), found.type);
  if (types.empty()) types.emplace_back();
  for (const Bytes message : found.messages) check_fields(message);
  for (const std::string& type : types) check_types(found, type);
  check_values(found, types.front());
  check_given(found);
}

}  // namespace

Target decoding_target() {
  return {.run_input = run_decoding_input, .mutator_for = [](Bytes) { return &kMessageMutator; }};
}

}  // namespace recordfs::fuzz
