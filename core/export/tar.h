// Records as members of a tar archive, in the form that WebDataset reads: the members of a record follow each other,
// and their names differ after the first dot. https://pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html,
// "ustar Interchange Format".
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/export/encoder.h"

namespace recordfs {

// A member of each record.
struct TarMember {
  static constexpr std::size_t kLongestName = 64;

  std::string name{};                 // after the key and a dot: "jpg"
  std::optional<std::string> part{};  // its path in the record; nullopt: the whole record

  // Takes "jpg=image/encoded", or "bin" for the whole record, from the begin of a text, up to a comma. Fails with
  // kUnsupported if the name is empty, longer than kLongestName, or has other characters than letters, digits, dots, -
  // and _, and as take_name() for the part.
  static Result<TarMember> take(std::string_view& text);
};

// Returns an encoder of archives. A key is the ordinal with nine digits or more, or else the value of the field `key`,
// which may be a path. Headers have the time 0, no owner and the mode 0644, so that the bytes depend on the records
// alone. A record is damage that lacks a member, or has no value of the field, several, or one that is no key: empty,
// not UTF-8, with a dot, a slash or a control character, too long for the header, or with "__" where WebDataset ignores
// the member. REQUIRES: the names differ, and there is at least one.
std::shared_ptr<const RowEncoder> open_tar(std::vector<TarMember> members, const std::optional<std::string>& key = {});

// Returns an encoder that passes on the rows of open_tar() to `archive`, but not those with the key of an earlier one,
// which are failures: readers would take them for one record. Keeps all keys in memory.
std::unique_ptr<FileEncoder> without_repeated_keys(std::unique_ptr<FileEncoder> archive);

}  // namespace recordfs
