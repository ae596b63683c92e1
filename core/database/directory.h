// The files of a database directory, by their names.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bounded_lru.h"
#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/base/storage.h"
#include "core/database/database.h"

namespace recordfs::database {

// What a name says.
struct FileName {
  FileKind kind = FileKind::kOther;
  std::uint64_t number = 0;
};

// Returns kOther for a name that the database did not choose, or whose number has more than 63 bits. Any thread.
FileName parse_file_name(std::string_view name);

struct DirectoryEntry {
  std::string name;
  FileName is;
  std::uint64_t size = 0;                  // bytes
  std::shared_ptr<const Source> source{};  // of a file that was given open; null: the file is opened by its name

  bool operator==(const DirectoryEntry& other) const { return name == other.name; }
};

// Returns the regular files of a directory, sorted by name. Fails with kIo, and with kLimit beyond 4,000,000 files.
Result<std::vector<DirectoryEntry>> list_directory(const Location& directory);

// Opens files of a directory, and keeps a bounded number of them open. Thread-safe, except for pin() and give(). Names
// are relative to the directory, or absolute. The rules, and descriptors that pin() keeps, are for local files.
class OpenFiles {
 public:
  // Which files are opened.
  struct Rules {
    bool follows_links = true;                              // also out of the file's directory
    std::function<bool(const struct stat& status)> admits;  // null: all files
  };

  // `most`: sources that are kept open; a caller that holds a source keeps its descriptor too.
  OpenFiles(std::string directory, std::size_t most, Rules rules)
      : directory_(std::move(directory)), rules_(std::move(rules)), sources_(most) {}

  // Makes open() and open_anew() return a source for a name.
  void give(const std::string& name, std::shared_ptr<const Source> source) { given_[name] = std::move(source); }

  // Opens a file, so that open() returns it even after the database has removed it. Fails with kIo if it does not
  // exist; if it cannot be opened for another reason, open() will fail.
  Result<void> pin(const std::string& name);

  // Returns the file with this name, as it was when it was opened first. Fails like Storage::open(); is_gone() tells
  // a file that does not exist.
  Result<std::shared_ptr<const Source>> open(const std::string& name);
  // Returns the file as it is now.
  Result<std::shared_ptr<const Source>> open_anew(const std::string& name) const;

  const std::string& directory() const { return directory_; }
  Location location(const std::string& name) const;

 private:
  Result<Descriptor> open_file(const std::string& name) const;

  const std::string directory_;
  const Rules rules_;
  std::map<std::string, Descriptor> pinned_;                    // by name
  std::map<std::string, std::shared_ptr<const Source>> given_;  // likewise
  BoundedLru<std::string, std::shared_ptr<const Source>> sources_;
};

// Appends the files of these kinds in another directory, by their names relative to the database's. Fails as
// list_directory().
Result<void> add_files_of(const OpenFiles& files, const std::string& directory, std::initializer_list<FileKind> kinds,
                          std::vector<DirectoryEntry>& entries);

// Returns whether an error says that a file does not exist, or that another one took its place.
bool is_gone(const Error& error);

// Returns a kChanged error: files of the state are gone, because the database is in use.
Error in_use();

// Returns whether goleveldb's text file LOG says that it removed a write-ahead log, as it does with an empty one
// without an edit of the MANIFEST. False if the file cannot be read. Any thread.
bool says_log_was_removed(const RequestContext& context, const OpenFiles& files, std::uint64_t number);

// Returns the name of the MANIFEST in the file CURRENT. Fails with kDamage if it names none, with kNotFound if there is
// no CURRENT, and as Source.
Result<std::string> read_current(const RequestContext& context, const OpenFiles& files);

}  // namespace recordfs::database
