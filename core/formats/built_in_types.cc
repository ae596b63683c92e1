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

// The types of protobuf's own files that may be used.
struct ImportedFile {
  const char* name;
  std::string_view types;
  std::string_view used;  // full names between spaces
};
constexpr std::string_view kImportedPackage = "google.protobuf";
constexpr std::array kImported{
    ImportedFile{"google/protobuf/timestamp.proto", "message Timestamp\nint64 seconds 1\nint32 nanos 2",
                 " google.protobuf.Timestamp "},
    ImportedFile{"google/protobuf/struct.proto", R"(
message Struct
  map:Value fields 1
message Value
  NullValue null_value 1 kind
  double number_value 2 kind
  string string_value 3 kind
  bool bool_value 4 kind
  Struct struct_value 5 kind
  ListValue list_value 6 kind
message ListValue
  Value* values 1
enum NullValue
  NULL_VALUE 0
)",
                 " google.protobuf.Struct google.protobuf.Value google.protobuf.ListValue "},
};

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
  bool is_map_entry = false;
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
    for (std::size_t i = 0; i < fields.size(); ++i) add(owners[i], fields[i]);
  }

  // Returns the FileDescriptorProto.
  std::string file() const {
    std::string out;
    append_field(out, 1, file_name_);
    append_field(out, 2, package_);
    for (const ImportedFile* file : imported_) append_field(out, 3, file->name);
    for (const std::string& name : top_) append_field(out, types_.at(name).is_enum ? 5 : 4, descriptor_of(name));
    append_field(out, 12, "proto3");
    return out;
  }
  const std::vector<const ImportedFile*>& imported() const { return imported_; }

 private:
  void declare(const std::string& name, bool is_enum) {
    types_[name].is_enum = is_enum;
    const std::size_t dot = name.rfind('.');
    (dot == std::string::npos ? top_ : types_[name.substr(0, dot)].inner).push_back(name);
  }

  // Adds a field or a value.
  void add(const std::string& owner_name, std::vector<std::string> words) {
    constexpr std::string_view kMap = "map:";
    if (words[0].starts_with(kMap)) words[0] = add_entry(owner_name, words[1], words[0].substr(kMap.size())) + "*";
    BuiltInType& owner = types_[owner_name];
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
    if (words.size() > 3 && words[3].starts_with('?')) {
      std::string options;
      append_field(options, kTypeOfBytes, std::string_view(words[3]).substr(1));
      append_field(encoded, 8, options);
    } else if (words.size() > 3) {
      append_number(encoded, 9, oneof_of(owner, words[3]));
    }
    append_field(owner.content, 2, encoded);
  }

  // Declares the type of the entries of a map, and returns its name.
  std::string add_entry(const std::string& owner, std::string field, const std::string& type) {
    field[0] = static_cast<char>(field[0] - 'a' + 'A');
    std::string name = owner + "." + field + "Entry";
    declare(name, false);
    types_[name].is_map_entry = true;
    add(name, {"string", "key", "1"});
    add(name, {type, "value", "2"});
    return name;
  }

  void append_type(std::string& out, const std::string& type) {
    const auto* const scalar =
        std::ranges::find(kScalars, std::string_view(type), [](const auto& one) { return one.first; });
    if (scalar != kScalars.end()) return append_number(out, 5, scalar->second);
    const auto* const imported = std::ranges::find_if(
        kImported, [&](const ImportedFile& file) { return file.used.find(" " + type + " ") != std::string::npos; });
    const bool is_imported = imported != kImported.end();
    if (is_imported && std::ranges::find(imported_, imported) == imported_.end()) imported_.push_back(imported);
    append_number(out, 5, !is_imported && types_[type].is_enum ? kEnum : kMessage);
    append_field(out, 6, is_imported ? "." + type : "." + package_ + "." + type);
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
    if (type.is_map_entry) append_field(out, 7, std::string_view("\x38\x01"));
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
  std::vector<const ImportedFile*> imported_;
};

}  // namespace

std::shared_ptr<const std::string> built_in_types(std::string_view package, std::string_view types) {
  TypeReader reader(std::string(package) + ".proto", package);
  reader.read(types);
  std::string set;
  for (const ImportedFile* file : reader.imported()) {
    TypeReader imported(file->name, kImportedPackage);
    imported.read(file->types);
    append_field(set, 1, imported.file());
  }
  append_field(set, 1, reader.file());
  return std::make_shared<const std::string>(std::move(set));
}

}  // namespace recordfs
