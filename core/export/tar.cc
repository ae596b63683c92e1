#include "core/export/tar.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "core/base/similar_names.h"
#include "core/base/utf8.h"
#include "core/columns/column_selection.h"
#include "core/decoding/field_names.h"
#include "core/decoding/record_part.h"
#include "core/decoding/single_values.h"

namespace recordfs {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::uint64_t kMostContent = std::uint64_t{1} << 33;  // of a size with eleven octal digits

// The fields of a header: https://pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html
struct Field {
  std::size_t begin;
  std::size_t size;
};
constexpr Field kName{.begin = 0, .size = 100};
constexpr Field kMode{.begin = 100, .size = 8};
constexpr Field kUid{.begin = 108, .size = 8};
constexpr Field kGid{.begin = 116, .size = 8};
constexpr Field kSize{.begin = 124, .size = 12};
constexpr Field kTime{.begin = 136, .size = 12};
constexpr Field kChecksum{.begin = 148, .size = 8};
constexpr std::size_t kType = 156;
constexpr Field kMagic{.begin = 257, .size = 8};

using Header = std::array<char, kBlock>;

void put_text(Header& header, const Field& field, std::string_view text) {
  std::memcpy(header.data() + field.begin, text.data(), std::min(text.size(), field.size));
}

void put_octal(Header& header, const Field& field, std::uint64_t number) {
  put_text(header, field, fmt::format("{:0{}o}", number, field.size - 1));
}

void append_file(std::string& out, const std::string& name, Bytes content) {
  Header header{};
  put_text(header, kName, name);
  put_octal(header, kMode, 0644);
  put_octal(header, kUid, 0);
  put_octal(header, kGid, 0);
  put_octal(header, kSize, content.size());
  put_octal(header, kTime, 0);
  header[kType] = '0';
  put_text(header, kMagic, std::string_view("ustar\00000", kMagic.size));
  put_text(header, kChecksum, "        ");
  const auto sum = std::accumulate(header.begin(), header.end(), std::uint64_t{0},
                                   [](std::uint64_t before, char c) { return before + static_cast<unsigned char>(c); });
  put_text(header, kChecksum, std::string_view(fmt::format("{:06o}", sum) + std::string("\0 ", 2)));
  out.append(header.data(), header.size());
  out += as_text(content);
  out.append((kBlock - content.size() % kBlock) % kBlock, '\0');
}

// Returns why a member of an archive cannot have this key; empty if it can.
std::string wrong_key(std::string_view key, std::string_view member) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  if (key.empty()) return "is empty";
  if (!is_utf8(key)) return "is not UTF-8";
  if (key.find('.') != std::string_view::npos) return "has a dot";
  if (key.find('/') != std::string_view::npos) return "has a slash";
  if (std::ranges::any_of(key, is_control)) return "has a control character";
  const std::size_t size = key.size() + 1 + member.size();
  if (size > kName.size) return fmt::format("is too long: with .{} at most {} bytes", member, kName.size);
  if (key.starts_with("__") && member.ends_with("__")) return fmt::format("with .{} is ignored by WebDataset", member);
  return {};
}

class Tar final : public RowEncoder {
 public:
  Tar(std::vector<TarMember> members, const std::optional<std::string>& key) : members_(std::move(members)) {
    if (key) key_.emplace(std::vector{*key});
    key_name_ = printable(key.value_or(""));
    for (const TarMember& member : members_) {
      if (member.part) paths_.push_back(*member.part);
    }
  }

  Result<void> append(const RequestContext& context, const ExportedRecord& record, std::string& out) const override {
    std::vector<std::optional<std::string>> parts;
    if (!paths_.empty()) {
      ASSIGN_OR_RETURN(parts, parts_of_record(record.rows.schema(), record.bytes, paths_));
    }
    ASSIGN_OR_RETURN(const std::string key, key_of(context, record));
    auto part = parts.begin();
    std::vector<std::pair<std::string, Bytes>> files;
    files.reserve(members_.size());
    for (const TarMember& member : members_) {
      if (member.part && !*part) return wrong(record, "no part " + printable(*member.part));
      if (const std::string why = wrong_key(key, member.name); !why.empty()) {
        return wrong(record, fmt::format("the key {}{}{}", printable(key), key.empty() ? "" : " ", why));
      }
      const Bytes content = member.part ? as_bytes(**part++) : record.bytes;
      if (content.size() >= kMostContent) {
        return Error{.code = Code::kLimit, .detail = "too large for tar"};
      }
      files.emplace_back(key + "." + member.name, content);
    }
    for (const auto& [name, content] : files) append_file(out, name, content);
    return {};
  }
  std::string end() const override {
    std::string zeros(2 * kBlock, '\0');
    return zeros;
  }

 private:
  static Error wrong(const ExportedRecord& record, std::string why) {
    return {.code = Code::kDamage, .position = record.chunk.begin, .detail = std::move(why)};
  }

  Result<std::string> key_of(const RequestContext& context, const ExportedRecord& record) const {
    if (!key_) return fmt::format("{:09}", record.ordinal);
    SingleValues values(1);
    JsonFilter filter(*key_, values);
    const auto visited = record.rows.decoder().visit(context, record.chunk, record.bytes, filter);
    if (!visited && visited.error().code != Code::kNotFound) return visited.error();
    filter.finish();
    const std::string* const key = values.find(0);
    if (key != nullptr) return *key;
    note_field_names(context, record.rows.decoder(), record.chunk, record.bytes, *key_);
    const auto names = key_->names();
    std::string hint;  // unless other records have the field
    if (!key_->absent().empty() && !names.empty()) {
      hint = fmt::format(" (the nearest are {})", nearest_names(key_name_, {names.begin(), names.end()}));
    }
    return wrong(record, fmt::format("{} of the key {}{}", values.count(0) > 1 ? "several values" : "no value",
                                     key_name_, hint));
  }

  const std::vector<TarMember> members_;
  std::vector<std::string> paths_;
  std::optional<FieldPaths> key_;  // nullopt: the ordinal
  std::string key_name_;
};

class WithoutRepeatedKeys final : public FileEncoder {
 public:
  explicit WithoutRepeatedKeys(std::unique_ptr<FileEncoder> archive) : archive_(std::move(archive)) {}

  Result<void> append(const RowBytes& rows, std::size_t begin, std::size_t end) override {
    for (std::size_t i = begin; i < end; ++i) {
      // Each row begins with a header, whose name begins with the key and a dot.
      const std::string_view row = as_text(rows.row(i));
      const auto [known, is_new] = keys_.try_emplace(std::string(row.substr(0, row.find('.'))), rows.ordinals[i]);
      if (is_new) continue;
      if (i > begin) TRY(archive_->append(rows, begin, i));
      begin = i + 1;
      Error why{.code = Code::kDamage,
                .detail = fmt::format("the key {} is also that of record {}", printable(known->first), known->second)};
      failures_.push_back({.origin = rows.origin, .ordinal = rows.ordinals[i], .why = std::move(why)});
    }
    return begin < end ? archive_->append(rows, begin, end) : Result<void>();
  }
  Result<void> finish() override { return archive_->finish(); }
  Result<void> settle() override { return archive_->settle(); }
  std::uint64_t pending() const override { return archive_->pending(); }
  std::vector<RowFailure> take_failures() override { return std::exchange(failures_, {}); }

 private:
  const std::unique_ptr<FileEncoder> archive_;
  std::unordered_map<std::string, std::uint64_t> keys_;  // with the ordinals
  std::vector<RowFailure> failures_;
};

}  // namespace

Result<TarMember> TarMember::take(std::string_view& text) {
  constexpr std::string_view kCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
  const std::string_view given = text;
  TarMember member{.name = std::string(text.substr(0, text.find_first_of("=,")))};
  text.remove_prefix(member.name.size());
  if (text.starts_with('=')) {
    text.remove_prefix(1);
    ASSIGN_OR_RETURN(member.part, take_name(text));
  }
  const bool is_name = !member.name.empty() && member.name.size() <= kLongestName &&
                       member.name.find_first_not_of(kCharacters) == std::string::npos && !member.name.ends_with('.');
  if (is_name && (!member.part || !member.part->empty())) return member;
  return Error{.code = Code::kUnsupported,
               .detail = fmt::format("not NAME=PART: {}", printable(given.substr(0, given.size() - text.size())))};
}

std::shared_ptr<const RowEncoder> open_tar(std::vector<TarMember> members, const std::optional<std::string>& key) {
  return std::make_shared<Tar>(std::move(members), key);
}

std::unique_ptr<FileEncoder> without_repeated_keys(std::unique_ptr<FileEncoder> archive) {
  return std::make_unique<WithoutRepeatedKeys>(std::move(archive));
}

}  // namespace recordfs
