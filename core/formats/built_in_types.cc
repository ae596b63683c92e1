#include "core/formats/built_in_types.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <sstream>
#include <utility>
#include <vector>

#include "core/base/protobuf.h"

namespace recordfs {
namespace {

using protobuf::append_field;

constexpr std::string_view kTimestamp = "google.protobuf.Timestamp";
constexpr const char* kTimestampFile = "google/protobuf/timestamp.proto";

// The numbers of google.protobuf.FieldDescriptorProto.Type.
constexpr std::uint64_t kMessage = 11;
constexpr std::uint64_t kEnum = 14;
constexpr std::array<std::pair<std::string_view, std::uint64_t>, 9> kScalars{{{"double", 1},
                                                                              {"float", 2},
                                                                              {"int64", 3},
                                                                              {"uint64", 4},
                                                                              {"int32", 5},
                                                                              {"bool", 8},
                                                                              {"string", 9},
                                                                              {"bytes", 12},
                                                                              {"uint32", 13}}};

struct BuiltInType {
  bool is_enum = false;
  std::string content{};              // the fields or values, encoded
  std::vector<std::string> oneofs{};  // of a message
  std::vector<std::string> inner{};   // the full names of the types in it
};

void append_number(std::string& out, std::uint32_t field, std::uint64_t value) {
  protobuf::append_varint(out, std::uint64_t{field} << 3);
  protobuf::append_varint(out, value);
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

class TypeReader {
 public:
  TypeReader(std::string_view file_name, std::string_view package) : file_name_(file_name), package_(package) {}

  void read(std::string_view text) {
    std::istringstream lines{std::string(text)};
    std::vector<std::vector<std::string>> fields;
    std::vector<std::string> owners;
    std::string current;
    for (std::string line; std::getline(lines, line);) {
      const auto words = words_of(line);
      if (words.empty()) continue;
      if (words[0] == "message" || words[0] == "enum") {
        current = words[1];
        declare(current, words[0] == "enum");
      } else {
        fields.push_back(words);
        owners.push_back(current);
      }
    }
    for (std::size_t i = 0; i < fields.size(); ++i) add(types_[owners[i]], fields[i]);
  }

  // Returns the FileDescriptorProto.
  std::string file() const {
    std::string out;
    append_field(out, 1, file_name_);
    append_field(out, 2, package_);
    if (uses_timestamp_) append_field(out, 3, kTimestampFile);
    for (const std::string& name : top_) append_field(out, 4, descriptor_of(name));
    append_field(out, 12, "proto3");
    return out;
  }
  bool uses_timestamp() const { return uses_timestamp_; }

 private:
  void declare(const std::string& name, bool is_enum) {
    types_[name].is_enum = is_enum;
    const std::size_t dot = name.rfind('.');
    (dot == std::string::npos ? top_ : types_[name.substr(0, dot)].inner).push_back(name);
  }

  // Adds a field or a value.
  void add(BuiltInType& owner, const std::vector<std::string>& words) {
    std::string encoded;
    if (owner.is_enum) {
      append_field(encoded, 1, words[0]);
      append_number(encoded, 2, std::stoul(words[1]));
      return append_field(owner.content, 2, encoded);
    }
    const bool is_repeated = words[0].ends_with('*');
    const std::string type = words[0].substr(0, words[0].size() - (is_repeated ? 1 : 0));
    append_field(encoded, 1, words[1]);
    append_number(encoded, 3, std::stoul(words[2]));
    append_number(encoded, 4, is_repeated ? 3 : 1);
    append_type(encoded, type);
    if (words.size() > 3) append_number(encoded, 9, oneof_of(owner, words[3]));
    append_field(owner.content, 2, encoded);
  }

  void append_type(std::string& out, const std::string& type) {
    const auto* const scalar =
        std::ranges::find(kScalars, std::string_view(type), [](const auto& one) { return one.first; });
    if (scalar != kScalars.end()) return append_number(out, 5, scalar->second);
    const bool is_timestamp = type == kTimestamp;
    uses_timestamp_ = uses_timestamp_ || is_timestamp;
    append_number(out, 5, !is_timestamp && types_[type].is_enum ? kEnum : kMessage);
    append_field(out, 6, is_timestamp ? "." + type : "." + package_ + "." + type);
  }

  static std::size_t oneof_of(BuiltInType& message, const std::string& name) {
    const auto known = std::ranges::find(message.oneofs, name);
    const auto index = static_cast<std::size_t>(known - message.oneofs.begin());
    if (known == message.oneofs.end()) message.oneofs.push_back(name);
    return index;
  }

  // Returns a DescriptorProto or an EnumDescriptorProto.
  std::string descriptor_of(const std::string& name) const {
    const BuiltInType& type = types_.at(name);
    std::string out;
    append_field(out, 1, name.substr(name.rfind('.') + 1));
    out += type.content;
    for (const std::string& inner : type.inner)
      append_field(out, types_.at(inner).is_enum ? 4 : 3, descriptor_of(inner));
    for (const std::string& oneof : type.oneofs) {
      std::string encoded;
      append_field(encoded, 1, oneof);
      append_field(out, 8, encoded);
    }
    return out;
  }

  const std::string file_name_;
  const std::string package_;
  std::map<std::string, BuiltInType> types_;
  std::vector<std::string> top_;
  bool uses_timestamp_ = false;
};

}  // namespace

std::shared_ptr<const std::string> built_in_types(std::string_view package, std::string_view types) {
  TypeReader reader(std::string(package) + ".proto", package);
  reader.read(types);
  std::string set;
  if (reader.uses_timestamp()) {
    TypeReader timestamp(kTimestampFile, "google.protobuf");
    timestamp.read("message Timestamp\nint64 seconds 1\nint32 nanos 2");
    append_field(set, 1, timestamp.file());
  }
  append_field(set, 1, reader.file());
  return std::make_shared<const std::string>(std::move(set));
}

}  // namespace recordfs
