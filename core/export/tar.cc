#include "core/export/tar.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "core/base/utf8.h"
#include "core/columns/column_selection.h"

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

class Tar final : public RowEncoder {
 public:
  Tar(std::vector<TarMember> members, PartsOfRecord parts_of)
      : members_(std::move(members)), parts_of_(std::move(parts_of)) {
    for (const TarMember& member : members_) {
      if (member.part) paths_.push_back(*member.part);
    }
  }

  Result<void> append(const RequestContext& /*context*/, const ExportedRecord& record,
                      std::string& out) const override {
    std::vector<std::optional<std::string>> parts;
    if (!paths_.empty()) {
      ASSIGN_OR_RETURN(parts, parts_of_(record.rows.schema(), record.bytes, paths_));
    }
    const std::string key = fmt::format("{:09}", record.ordinal);
    auto part = parts.begin();
    for (const TarMember& member : members_) {
      if (member.part && !*part) {
        return Error{
            .code = Code::kDamage, .position = record.chunk.begin, .detail = "no part " + printable(*member.part)};
      }
      const Bytes content = member.part ? as_bytes(**part++) : record.bytes;
      if (content.size() >= kMostContent) {
        return Error{.code = Code::kLimit, .detail = "too large for tar"};
      }
      append_file(out, key + "." + member.name, content);
    }
    return {};
  }
  std::string end() const override { return std::string(2 * kBlock, '\0'); }

 private:
  const std::vector<TarMember> members_;
  const PartsOfRecord parts_of_;
  std::vector<std::string> paths_;
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

std::shared_ptr<const RowEncoder> open_tar(std::vector<TarMember> members, PartsOfRecord parts_of) {
  return std::make_shared<Tar>(std::move(members), std::move(parts_of));
}

}  // namespace recordfs
