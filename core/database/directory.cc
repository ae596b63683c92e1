#include "core/database/directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <system_error>
#include <utility>

namespace recordfs::database {
namespace {

constexpr std::size_t kMostFiles = 4'000'000;
constexpr std::uint64_t kMostOfCurrent = 4096;  // bytes
constexpr std::uint64_t kMostOfLog = 1 << 20;   // bytes at the end of the text file LOG
constexpr std::string_view kCurrent = "CURRENT";
constexpr std::string_view kManifest = "MANIFEST-";

std::optional<std::uint64_t> number_of(std::string_view digits) {
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool is_number = parsed.ec == std::errc{} && parsed.ptr == digits.data() + digits.size();
  return is_number && number <= INT64_MAX ? std::optional(number) : std::nullopt;
}

FileKind kind_of_suffix(std::string_view suffix) {
  if (suffix == "ldb" || suffix == "sst") return FileKind::kTable;
  if (suffix == "log") return FileKind::kLog;
  return suffix == "blob" ? FileKind::kBlob : FileKind::kOther;
}

Error cannot_open(std::string_view why, int number) {
  return {.code = Code::kIo, .detail = fmt::format("cannot open: {}", why), .os_error = number};
}

// Opens a file for reading. Without `follows_links`, a symbolic link is followed only inside the file's directory, or
// not at all if the system lacks openat2. Sets errno to EXDEV or ELOOP for other links.
Descriptor open_in_place(const std::string& path, bool follows_links) {
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  if (follows_links) return Descriptor(::open(path.c_str(), kFlags));
  const std::size_t slash = path.rfind('/') + 1;
  const Descriptor directory(::open(path.substr(0, slash).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return {};
  open_how how{};
  how.flags = kFlags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  constexpr int kTries = 8;  // a rename beside it makes the kernel uncertain
  long opened = -1;
  for (int tries = 0; tries < kTries; ++tries) {
    opened = ::syscall(SYS_openat2, directory.number(), path.c_str() + slash, &how, sizeof(how));
    if (opened >= 0 || errno != EAGAIN) break;
  }
  if (opened < 0 && (errno == ENOSYS || errno == EPERM))
    opened = ::openat(directory.number(), path.c_str() + slash, kFlags | O_NOFOLLOW);
  return Descriptor(static_cast<int>(opened));
}

// Returns a file beside or below a directory of a server. There, ".." would be a name like others.
Location stored(std::string_view directory, std::string_view name) {
  constexpr std::string_view kUp = "../";
  while (directory.ends_with('/')) directory.remove_suffix(1);
  while (name.starts_with(kUp)) {
    const std::size_t slash = directory.rfind('/');
    const bool is_top = slash == std::string_view::npos || directory.substr(0, slash).ends_with('/');
    if (is_top) break;
    directory = directory.substr(0, slash);
    name.remove_prefix(kUp.size());
  }
  return Location(std::string(directory) + '/').child(name);
}

}  // namespace

FileName parse_file_name(std::string_view name) {
  if (name == kCurrent) return {FileKind::kCurrent, 0};
  if (name.starts_with(kManifest)) {
    const auto number = number_of(name.substr(kManifest.size()));
    return number ? FileName{FileKind::kManifest, *number} : FileName{};
  }
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return {};
  const auto number = number_of(name.substr(0, dot));
  const FileKind kind = kind_of_suffix(name.substr(dot + 1));
  return number && kind != FileKind::kOther ? FileName{kind, *number} : FileName{};
}

Result<std::vector<DirectoryEntry>> list_directory(const Location& directory) {
  std::vector<DirectoryEntry> entries;
  const auto take = [&](const ListedEntry& entry) -> Result<void> {
    if (entry.kind != SourceKind::kFile) return {};
    if (entries.size() == kMostFiles) return Error{Code::kLimit, 0, "too many files in the directory"};
    entries.push_back({entry.name, parse_file_name(entry.name), entry.size});
    return {};
  };
  if (auto listed = directory.storage().list({}, directory, {}, take); !listed) {
    Error why = std::move(listed).error();
    if (why.code == Code::kIo) why.detail = "cannot list the directory: " + why.detail;
    return why;
  }
  std::ranges::sort(entries, {}, &DirectoryEntry::name);
  return entries;
}

Location OpenFiles::location(const std::string& name) const {
  Location location(name);
  if (name.starts_with('/') || !location.is_local()) return location;
  const Location directory(directory_);
  return directory.is_local() ? directory.child(name) : stored(directory_, name);
}

Result<Descriptor> OpenFiles::open_file(const std::string& name) const {
  Descriptor file = open_in_place(location(name).text(), rules_.follows_links);
  if (!file && (errno == EXDEV || errno == ELOOP)) return cannot_open("a symbolic link out of the directory", EACCES);
  if (!file) return cannot_open(std::strerror(errno), errno);
  struct stat status {};
  if (!rules_.admits) return file;
  if (::fstat(file.number(), &status) != 0) return system_error(errno);
  if (!rules_.admits(status)) return cannot_open("fewer users may read it than the database", EACCES);
  return file;
}

Result<void> OpenFiles::pin(const std::string& name) {
  if (given_.contains(name) || !location(name).is_local()) return {};
  auto descriptor = open_file(name);
  if (!descriptor && descriptor.error().os_error == ENOENT) return std::move(descriptor).error();
  if (!descriptor) return {};
  pinned_.insert_or_assign(name, *std::move(descriptor));
  return {};
}

Result<std::shared_ptr<const Source>> OpenFiles::open(const std::string& name) {
  if (const auto given = given_.find(name); given != given_.end()) return given->second;
  if (auto found = sources_.find(name)) return *std::move(found);
  const auto pinned = pinned_.find(name);
  if (pinned == pinned_.end()) {
    ASSIGN_OR_RETURN(auto source, open_anew(name));
    return sources_.add(name, std::move(source));
  }
  Descriptor descriptor(::fcntl(pinned->second.number(), F_DUPFD_CLOEXEC, 0));
  if (!descriptor) return system_error(errno);
  ASSIGN_OR_RETURN(auto source, FileSource::of(std::move(descriptor), name.substr(name.rfind('/') + 1)));
  return sources_.add(name, std::shared_ptr<const Source>(std::move(source)));
}

Result<std::shared_ptr<const Source>> OpenFiles::open_anew(const std::string& name) const {
  if (const auto given = given_.find(name); given != given_.end()) return given->second;
  if (const Location there = location(name); !there.is_local()) return open_source({}, there);
  ASSIGN_OR_RETURN(auto descriptor, open_file(name));
  ASSIGN_OR_RETURN(auto source, FileSource::of(std::move(descriptor), name.substr(name.rfind('/') + 1)));
  return std::shared_ptr<const Source>(std::move(source));
}

Result<void> add_files_of(const OpenFiles& files, const std::string& directory, std::initializer_list<FileKind> kinds,
                          std::vector<DirectoryEntry>& entries) {
  ASSIGN_OR_RETURN(auto others, list_directory(files.location(directory)));
  for (DirectoryEntry& entry : others) {
    if (std::ranges::find(kinds, entry.is.kind) == kinds.end()) continue;
    entry.name = directory + "/" + entry.name;
    entries.push_back(std::move(entry));
  }
  return {};
}

bool is_gone(const Error& error) {
  return error.code == Code::kChanged || (error.code == Code::kIo && error.os_error == ENOENT);
}

Error in_use() {
  return {.code = Code::kChanged, .detail = "the database is in use and has replaced files of the state (try again)"};
}

bool says_log_was_removed(const RequestContext& context, const OpenFiles& files, std::uint64_t number) {
  const auto source = files.open_anew("LOG");
  if (!source) return false;
  const std::uint64_t size = (*source)->size();
  const std::uint64_t begin = size - std::min(size, kMostOfLog);
  const auto bytes = read_up_to(context, **source, begin, size - begin);
  return bytes &&
         as_text(bytes->view()).find(fmt::format("journal@remove removed @{}\n", number)) != std::string_view::npos;
}

Result<std::string> read_current(const RequestContext& context, const OpenFiles& files) {
  auto source = files.open_anew(std::string(kCurrent));
  if (!source) {
    if (source.error().os_error == ENOENT) return Error{Code::kNotFound, 0, "there is no CURRENT"};
    return std::move(source).error();
  }
  ASSIGN_OR_RETURN(const auto bytes, read_up_to(context, **source, 0, kMostOfCurrent));
  const std::string_view text = as_text(bytes.view());
  const std::string_view name = text.substr(0, text.find('\n'));
  const bool is_whole = name.size() + 1 == text.size() && parse_file_name(name).kind == FileKind::kManifest;
  if (!is_whole) return Error{Code::kDamage, 0, "CURRENT does not name a MANIFEST"};
  return std::string(name);
}

}  // namespace recordfs::database
