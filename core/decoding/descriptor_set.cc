#include "core/decoding/descriptor_set.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/base/protobuf.h"
#include "core/base/utf8.h"
#include "core/formats/descriptor_elements.h"

namespace recordfs {
namespace {

Error not_found(std::string why) { return {.code = Code::kNotFound, .detail = std::move(why)}; }

using protobuf::Field;
using protobuf::MessageReader;
using protobuf::WireType;

using Element = DescriptorElement;

constexpr std::uint32_t kFileOfSet = 1;
constexpr std::uint32_t kPackage = 2;
constexpr std::uint32_t kImport = 3;
constexpr std::uint32_t kSourceInfo = 9;
constexpr std::uint32_t kPublicImport = 10;
constexpr std::uint32_t kUninterpretedOption = 999;

// Bytes of memory, measured with libprotobuf 3.21 and rounded up.
constexpr std::uint64_t kPerMessage = 1200;
constexpr std::uint64_t kPerElement = 600;
constexpr std::uint64_t kPerRange = 100;
constexpr std::uint64_t kPerField = 64;           // of any unlisted message
constexpr std::uint64_t kPerByteOfName = 3;       // per byte of a full name
constexpr std::uint64_t kPerByteOfOption = 64;    // per byte of an option that must be interpreted
constexpr std::uint64_t kPerByteOfRelative = 16;  // per byte of the enclosing scope of a relative reference
constexpr std::uint64_t kPerByte = 2;

// Returns whether a field refers to a type by a relative name, which is looked up in one scope after another.
bool is_relative(Element element, const Field& field, std::string_view content) {
  const bool refers = (element == Element::kField && (field.number == 2 || field.number == 6)) ||
                      (element == Element::kMethod && (field.number == 2 || field.number == 3));
  return refers && !content.starts_with('.');
}

std::uint64_t cost_of(Element element) {
  switch (element) {
    case Element::kNone:
    case Element::kOptions: return 0;
    case Element::kRange: return kPerRange;
    case Element::kFile:
    case Element::kMessage: return kPerMessage;
    default: return kPerElement;
  }
}

Error damage() { return {.code = Code::kDamage, .detail = "not a serialized FileDescriptorSet"}; }
Error too_much() { return {.code = Code::kLimit, .detail = "too many descriptors"}; }

std::string joined(std::string_view scope, std::string_view name) {
  std::string full(scope);
  if (!full.empty()) full += '.';
  full += name;
  return full;
}

// Returns the last value of a string field, or "" if it is absent.
std::string_view text_of(Bytes message, std::uint32_t number, std::uint32_t depth) {
  std::string_view text;
  MessageReader reader(message, depth);
  while (reader.next()) {
    if (reader.field().is(number, WireType::kLengthDelimited)) text = as_text(reader.content());
  }
  return text;
}

// Parses a set. Not thread-safe.
class SetReader {
 public:
  explicit SetReader(const DescriptorLimits& limits) : limits_(limits) {}

  Result<DescriptorSet> read(Bytes bytes) {
    MessageReader reader(bytes, limits_.depth);
    while (reader.next()) {
      if (!reader.field().is(kFileOfSet, WireType::kLengthDelimited)) return damage();
      TRY(add_file(reader.content()));
    }
    if (!reader.finish() || set_.files.empty()) return damage();
    set_.memory = cost_;
    std::ranges::sort(set_.types);
    set_.types.erase(std::unique(set_.types.begin(), set_.types.end()), set_.types.end());
    return std::move(set_);
  }

 private:
  Result<void> add_file(Bytes content) {
    if (set_.files.size() >= limits_.files) return too_much();
    DescriptorFile file{.name = text_of(content, kDescriptorName, limits_.depth), .content = content};
    MessageReader reader(content, limits_.depth);
    while (reader.next()) {
      const Field& field = reader.field();
      if (field.is(kImport, WireType::kLengthDelimited)) file.imports.push_back(as_text(reader.content()));
      if (field.number == kPublicImport) public_imports_ += std::max<std::uint64_t>(reader.content().size(), 1);
      if (public_imports_ > limits_.public_imports) return too_much();
      if (field.is(kSourceInfo, WireType::kLengthDelimited)) file.has_source_info = true;
    }
    if (!reader.finish() || file.name.empty()) return damage();
    set_.files.push_back(std::move(file));
    return look_into(Element::kFile, content, std::string(text_of(content, kPackage, limits_.depth)), 0);
  }

  // Adds the cost of an element and its content, and records message types. `scope` is the full name of the element.
  Result<void> look_into(Element element, Bytes content, const std::string& scope, std::uint32_t depth) {
    if (depth > limits_.depth) return too_much();
    cost_ += cost_of(element) + scope.size() * kPerByteOfName;
    std::uint64_t ranges = 0;
    MessageReader reader(content, limits_.depth);
    while (reader.next()) {
      if (cost_ > limits_.memory) return too_much();
      const Field& field = reader.field();
      const Element child = child_of(element, field);
      if (child == Element::kRange && ++ranges > limits_.ranges) return too_much();
      if (child == Element::kNone) {
        add_field(element, field, reader.content(), scope);
      } else {
        TRY(look_into_child(child, reader.content(), scope, depth, element));
      }
    }
    return reader.finish() ? Result<void>() : damage();
  }

  Result<void> look_into_child(Element child, Bytes content, const std::string& scope, std::uint32_t depth,
                               Element parent) {
    if (child == Element::kOptions || child == Element::kRange) return look_into(child, content, {}, depth + 1);
    const std::string full = joined(scope, text_of(content, kDescriptorName, limits_.depth));
    if (child == Element::kMessage) {
      set_.types.push_back(full);
      if (parent == Element::kFile) set_.types_at_top.push_back(full);
    }
    return look_into(child, content, full, depth + 1);
  }

  void add_field(Element element, const Field& field, Bytes content, const std::string& scope) {
    if (element == Element::kFile && field.number == kSourceInfo) return;
    cost_ += kPerField + content.size() * kPerByte;
    if (element == Element::kOptions && field.number == kUninterpretedOption) {
      cost_ += content.size() * kPerByteOfOption;
    }
    if (is_relative(element, field, as_text(content))) cost_ += scope.size() * kPerByteOfRelative;
  }

  const DescriptorLimits& limits_;
  DescriptorSet set_;
  std::uint64_t cost_ = 0;
  std::uint64_t public_imports_ = 0;
};

}  // namespace

bool DescriptorSet::has_type(std::string_view full_name) const {
  return std::ranges::binary_search(types, full_name, std::less<>());
}

std::vector<std::size_t> DescriptorSet::in_order_of_imports() const {
  std::multimap<std::string_view, std::size_t> by_name;
  for (std::size_t i = 0; i < files.size(); ++i) by_name.emplace(files[i].name, i);
  struct Visit {
    std::size_t file;
    std::size_t next_import = 0;
  };
  std::vector<std::size_t> order;
  std::vector<bool> is_seen(files.size());
  std::vector<Visit> visits;
  const auto visit = [&](std::size_t file) {
    if (is_seen[file]) return;
    is_seen[file] = true;
    visits.push_back({file});
  };
  // Visit one at a time, so that of several files with one name the first is finished first.
  const auto visit_import = [&](std::string_view name) {
    const auto [begin, end] = by_name.equal_range(name);
    for (auto at = end; at != begin;) visit((--at)->second);
  };
  for (std::size_t i = 0; i < files.size(); ++i) {
    visit(i);
    while (!visits.empty()) {
      Visit& last = visits.back();
      const auto& imports = files[last.file].imports;
      if (last.next_import < imports.size()) {
        visit_import(imports[last.next_import++]);
      } else {
        order.push_back(last.file);
        visits.pop_back();
      }
    }
  }
  return order;
}

Result<DescriptorSet> read_descriptor_set(Bytes bytes, const DescriptorLimits& limits) {
  return SetReader(limits).read(bytes);
}

std::string without_source_info(const DescriptorFile& file) {
  std::string kept;
  std::size_t begin = 0;
  MessageReader reader(file.content, DescriptorLimits().depth);
  while (reader.next()) {
    const std::size_t end = reader.content_begin() + reader.content().size();
    // The next kept range begins after an omitted field.
    if (reader.field().is(kSourceInfo, WireType::kLengthDelimited)) {
      begin = end;
      continue;
    }
    kept += as_text(file.content.subspan(begin, end - begin));
    begin = end;
  }
  kept += as_text(file.content.subspan(begin));
  return kept;
}

std::vector<std::string> record_types_in(const DescriptorSet& set) {
  std::vector<std::string> types;
  std::ranges::copy_if(set.types_at_top, std::back_inserter(types),
                       [](const std::string& type) { return !type.starts_with("google.protobuf."); });
  return types.empty() ? set.types_at_top : types;
}

Result<UserTypes> user_types(std::string descriptors, std::string type) {
  ASSIGN_OR_RETURN(const auto set, read_descriptor_set(as_bytes(descriptors)));
  if (type.starts_with('.')) type.erase(0, 1);
  const auto candidates = record_types_in(set);
  const std::size_t top_types = candidates.size();
  if (top_types == 0 && type.empty()) return not_found("contains no message type");
  const bool is_only_type = type.empty() && top_types == 1;
  if (is_only_type) type = candidates.front();
  if (!type.empty() && !set.has_type(type)) {
    return not_found(fmt::format("contains no message type {}", printable(type)));
  }
  return UserTypes{std::make_shared<const std::string>(std::move(descriptors)), std::move(type), is_only_type,
                   top_types};
}

}  // namespace recordfs
