#include "core/export/record_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <utility>

#include <fmt/format.h>

#include "core/base/percent_encoding.h"
#include "core/base/utf8.h"
#include "core/base/write_all.h"
#include "core/decoding/field_names.h"
#include "core/decoding/file_names.h"
#include "core/decoding/record_part.h"
#include "core/decoding/single_values.h"
#include "core/output/publish_file.h"
#include "core/output/subdirectories.h"
#include "core/search/scalar_fields.h"

namespace recordfs {
namespace {

using Failure = RecordFiles::Failure;

constexpr std::size_t kLongestName = NAME_MAX - 32;  // bytes, so that the hidden name of an unfinished file fits too

Error not_found(std::string why) { return {.code = Code::kNotFound, .detail = std::move(why)}; }
Error bad_pattern(std::string why) { return {.code = Code::kUnsupported, .detail = std::move(why)}; }

std::optional<Failure> write_bytes(Bytes bytes, int file) {
  const int error = write_all(file, bytes);
  return error == 0 ? std::nullopt : std::optional(Failure{.why = system_error(error)});
}

std::optional<Failure> write_record(const RecordFiles::Record& record, int file) {
  constexpr std::uint64_t kPieceOfRecord = 1u << 20;
  const std::uint64_t size = record.chunk.layout().extent(record.index).size;
  std::uint64_t at = 0;
  do {
    const auto piece =
        record.store.records().read({}, record.chunk, record.index, at, std::min(kPieceOfRecord, size - at));
    if (!piece) return Failure{.is_of_record = true, .why = piece.error()};
    if (const int error = write_all(file, piece->bytes); error != 0) return Failure{.why = system_error(error)};
    at += std::max<std::uint64_t>(piece->bytes.size(), 1);
  } while (at < size);
  return std::nullopt;
}

// Calls `take` with each piece of a path between slashes. Returns false as soon as `take` does.
template <class Take>
bool each_name(std::string_view path, const Take& take) {
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (!take(path.substr(begin, end - begin))) return false;
    begin = end + 1;
  }
  return true;
}

bool is_file_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.size() <= kLongestName;
}

// Creates a hidden file that is to get this name. No other one has its name, so that several threads may write files of
// one name.
Descriptor create_unfinished(int directory, const std::string& name, std::string& unfinished) {
  static std::atomic<std::uint32_t> created{0};
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  constexpr int kTries = 1000;  // a killed process may have left files
  Descriptor file;
  for (int i = 0; i < kTries && !file; ++i) {
    unfinished = fmt::format(".{}.{}.{:x}.recordfs", name, ::getpid(), created++);
    file = Descriptor(::openat(directory, unfinished.c_str(), kFlags, 0666));
    if (!file && errno != EEXIST) break;
  }
  return file;
}

}  // namespace

// --- names

NamePattern::NamePattern(std::vector<Piece> pieces, std::vector<std::string> names)
    : pieces_(std::move(pieces)), names_(std::move(names)), fields_(names_) {}

Result<std::shared_ptr<const NamePattern>> NamePattern::parse(std::string_view text) {
  std::vector<Piece> pieces;
  std::vector<std::string> names;
  std::string literal;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char next = text[i];
    if ((next == '{' || next == '}') && text.substr(i + 1, 1) == text.substr(i, 1)) {
      literal += text[i++];
      continue;
    }
    if (next == '}') return bad_pattern("} without {; a brace is written twice");
    if (next != '{') {
      literal += next;
      continue;
    }
    const std::size_t end = text.find('}', i);
    if (end == std::string_view::npos) return bad_pattern("{ without }; a brace is written twice");
    const std::string name(text.substr(i + 1, end - i - 1));
    if (name.empty()) return bad_pattern("{} names no field");
    if (!literal.empty()) pieces.emplace_back(std::exchange(literal, {}));
    if (name == "ordinal") {
      pieces.emplace_back(Ordinal());
    } else if (name == "part") {
      pieces.emplace_back(Part());
    } else {
      pieces.emplace_back(names.size());
      names.push_back(name);
    }
    i = end;
  }
  if (!literal.empty()) pieces.emplace_back(std::move(literal));
  const bool is_below = each_name(text, [](std::string_view name) { return is_file_name(name); });
  if (!is_below || text.find('\0') != std::string_view::npos) return bad_pattern("not the path of a file below DIR");
  return std::shared_ptr<const NamePattern>(new NamePattern(std::move(pieces), std::move(names)));
}

bool NamePattern::has_ordinal() const {
  return std::ranges::any_of(pieces_, [](const Piece& piece) { return std::holds_alternative<Ordinal>(piece); });
}

bool NamePattern::has_part() const {
  return std::ranges::any_of(pieces_, [](const Piece& piece) { return std::holds_alternative<Part>(piece); });
}

Result<std::string> NamePattern::name(const RequestContext& context, const RecordDecoder& decoder,
                                      const ChunkInfo& chunk, const NamedRecord& record) const {
  SingleValues values(names_.size());
  if (!names_.empty()) {
    TRY(visit_fields(context, decoder, chunk, record.bytes, record.path_in_set, fields_, values));
    note_field_names(context, decoder, chunk, record.bytes, fields_);
  }
  std::string path;
  for (const Piece& piece : pieces_) {
    if (const auto* text = std::get_if<std::string>(&piece)) {
      path += *text;
    } else if (std::holds_alternative<Ordinal>(piece)) {
      path += record_name(record.ordinal);
    } else if (std::holds_alternative<Part>(piece)) {
      std::string dotted(record.part);
      std::ranges::replace(dotted, '/', '.');
      path += dotted;
    } else {
      const std::size_t field = std::get<std::size_t>(piece);
      const std::string* const value = values.find(field);
      if (value == nullptr) {
        return not_found(fmt::format("{} has {} values, not one", printable(names_[field]), values.count(field)));
      }
      path += percent_encoded(*value, "/");
    }
  }
  const bool is_path = each_name(path, [](std::string_view name) { return is_file_name(name); });
  if (!is_path) return not_found(fmt::format("{} is no file name", printable(path)));
  return path;
}

std::string RecordFiles::Options::name_of(std::uint64_t ordinal, std::size_t part) const {
  std::string path = parts.size() > 1 ? "." + parts[part] : "";
  std::ranges::replace(path, '/', '.');
  return record_name(ordinal) + path + suffix;
}

// --- files

std::vector<Failure> RecordFiles::write(const Record& record) const {
  if (options_.parts.empty()) return write_whole(record);
  const auto bytes = record.store.records().read({}, record.chunk, record.index, 0, UINT64_MAX);
  if (!bytes) return {Failure{.is_of_record = true, .why = bytes.error()}};
  return write_parts(record, bytes->bytes);
}

std::vector<Failure> RecordFiles::write_whole(const Record& record) const {
  Slice bytes;  // for the name
  if (options_.pattern) {
    auto whole = record.store.records().read({}, record.chunk, record.index, 0, UINT64_MAX);
    if (!whole) return {Failure{.is_of_record = true, .why = whole.error()}};
    bytes = std::move(*whole);
  }
  auto named = name_of(record, bytes.bytes, 0);
  if (auto* failure = std::get_if<Failure>(&named)) return {std::move(*failure)};
  auto failure = write_file(std::get<std::string>(named), [&](int file) { return write_record(record, file); });
  if (!failure) return {};
  return {std::move(*failure)};
}

std::vector<Failure> RecordFiles::write_parts(const Record& record, Bytes bytes) const {
  const auto parts = parts_of_record(record.store.schema(), bytes, options_.parts);
  if (!parts) return {Failure{.is_of_record = true, .why = parts.error()}};
  std::vector<Failure> failures;
  for (std::size_t i = 0; i < parts->size(); ++i) {
    std::optional<Failure> failure;
    auto named = name_of(record, bytes, i);
    if (!(*parts)[i]) {
      failure = Failure{.has_no_part = true, .why = {}};
    } else if (auto* unnamed = std::get_if<Failure>(&named)) {
      failure = std::move(*unnamed);
    } else {
      failure =
          write_file(std::get<std::string>(named), [&](int file) { return write_bytes(as_bytes(*(*parts)[i]), file); });
    }
    if (!failure) continue;
    failure->part = i;
    failures.push_back(std::move(*failure));
  }
  return failures;
}

std::variant<std::string, Failure> RecordFiles::name_of(const Record& record, Bytes bytes, std::size_t part) const {
  const auto without_name = [](Error why) { return Failure{.has_no_name = true, .why = std::move(why)}; };
  const auto checked = [&](std::string path) -> std::variant<std::string, Failure> {
    if (is_file_name(std::string_view(path).substr(path.rfind('/') + 1))) return path;
    return without_name(not_found(fmt::format("{} is no file name", printable(path))));
  };
  if (!options_.pattern) return checked(options_.name_of(record.ordinal, part));
  const std::string_view path = options_.parts.empty() ? std::string_view() : std::string_view(options_.parts[part]);
  auto name = options_.pattern->name(
      {}, record.decoder, record.info,
      {.bytes = bytes, .path_in_set = record.path_in_set, .ordinal = record.ordinal, .part = path});
  if (name) return checked(*name + options_.suffix);
  const Code code = name.error().code;
  const bool is_of_record = code == Code::kNotFound || code == Code::kUnsupported || code == Code::kDamage;
  if (is_of_record) return without_name(name.error());
  return Failure{.is_of_record = true, .why = std::move(name).error()};
}

Result<Descriptor> RecordFiles::directory_of(const std::string& path) const {
  if (path.find('/') == std::string::npos) return Descriptor();
  std::vector<std::string> created;
  return open_directory_of(directory_.number(), path, &created);
}

std::optional<Failure> RecordFiles::write_file(const std::string& path, const WriteContent& write) const {
  const auto directory = directory_of(path);
  std::optional<Failure> failure;
  if (!directory) {
    failure = Failure{.why = directory.error()};
  } else {
    failure =
        write_file_of(*directory ? directory->number() : directory_.number(), path.substr(path.rfind('/') + 1), write);
  }
  if (failure) failure->name = path;
  return failure;
}

std::optional<Failure> RecordFiles::write_file_of(int directory, const std::string& name,
                                                  const WriteContent& write) const {
  struct stat st {};
  if (::fstatat(directory, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) {
    if (!options_.replaces) return Failure{.is_there = true, .why = system_error(EEXIST)};
    if (options_.read.contains(directory, name))
      return Failure{.why = {.code = Code::kUnsupported, .detail = std::string(kIsRead)}};
  }
  std::string unfinished;
  Descriptor file = create_unfinished(directory, name, unfinished);
  if (!file) return Failure{.why = system_error(errno)};
  std::optional<Failure> failure = write(file.number());
  // Some filesystems report a full disk only here.
  if (::close(file.release()) != 0 && !failure) failure = Failure{.why = system_error(errno)};
  if (!failure && !publish_file(directory, unfinished, name, options_.replaces)) {
    failure = Failure{.is_there = errno == EEXIST, .why = system_error(errno)};
  }
  if (failure) ::unlinkat(directory, unfinished.c_str(), 0);
  return failure;
}

}  // namespace recordfs
