#include "core/dataset/directory_entries.h"

#include "core/dataset/path_errors.h"

namespace recordfs {

Result<void> each_entry_in(const Location& directory,
                           const std::function<Result<void>(const ListedEntry& entry)>& take) {
  bool has_failed = false;  // to take one
  auto listed = directory.storage().list({}, directory, {}, [&](const ListedEntry& entry) {
    auto taken = take(entry);
    has_failed = !taken;
    return taken;
  });
  if (listed || has_failed) return listed;
  return with_path(directory.text(), Code::kIo, listed.error().detail, listed.error().os_error);
}

Result<void> each_file_in(const Location& directory, const std::function<Result<void>(const std::string& name)>& take) {
  return each_entry_in(directory, [&](const ListedEntry& entry) {
    return entry.kind == SourceKind::kFile ? take(entry.name) : Result<void>();
  });
}

std::string in_directory(const std::string& directory, const std::string& name) {
  return Location(directory).child(name).text();
}

}  // namespace recordfs
