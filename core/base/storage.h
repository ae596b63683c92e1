// Storage: where the bytes of sources come from. Opens, examines and lists what a Location names.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/location.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/base/source_id.h"

namespace recordfs {

enum class SourceKind : std::uint8_t {
  kFile,  // a regular file
  kDirectory,
  kOther,  // a device, a pipe, a link that leads nowhere, ...
};

// The state of a file or directory.
struct SourceStatus {
  SourceKind kind = SourceKind::kOther;
  std::uint64_t size = 0;  // bytes
  SourceId id{};
  timespec modified{};
  std::optional<SourceOwner> owner{};  // nullopt: the storage does not say
  // After how much time the id is settled and its touch is known; 0 if they are, or never will be. At most 2 seconds.
  std::chrono::nanoseconds settles_in{0};
  std::uint64_t device = 0;  // as st_dev; what has the same one has the same Storage::filesystem()

  bool is_file() const { return kind == SourceKind::kFile; }
};

// An entry of a directory. Valid during the call that takes it.
struct ListedEntry {
  const std::string& name;
  SourceKind kind = SourceKind::kOther;  // of the target of a link
  std::uint64_t size = 0;                // bytes; 0 unless it is a file
  timespec modified{};                   // 0: the listing does not tell
  std::string_view version{};            // of the bytes, comparable only to others of listings; empty: it does not tell
};

// The bytes [begin, end) of a file.
struct ByteRange {
  Position begin = 0;
  Position end = 0;
};

// Const and thread-safe. All but local_path() may block, as far as the RequestContext permits if the storage is not
// local. They fail with kIo, whose os_error is ENOENT or ENOTDIR if there is no such file, with kOutOfMemory, and like
// RequestContext::permit_wait_for().
class Storage {
 public:
  enum class Use : std::uint8_t {
    kRead,
    kFollow,  // others append to the file; appending alone does not increase Source::generation()
  };
  using Wanted = std::function<bool(const std::string& name)>;
  using TakeEntry = std::function<Result<void>(const ListedEntry& entry)>;

  virtual ~Storage() = default;

  // Opens a file. Also fails with kChanged, and if it is neither a regular file nor a block device.
  virtual Result<std::shared_ptr<const Source>> open(const RequestContext& context, const Location& location,
                                                     Use use) const = 0;
  // Follows symbolic links.
  virtual Result<SourceStatus> status(const RequestContext& context, const Location& location) const = 0;
  // Calls `take` with each entry of a directory whose name `wanted` accepts, until it fails. In any order, without "."
  // and "..". Fails like `take`, too.
  virtual Result<void> list(const RequestContext& context, const Location& directory, const Wanted& wanted,
                            const TakeEntry& take) const = 0;
  // Calls `take` with the entries of one page of a directory, until it fails. `page` is empty for the first page, and
  // otherwise what the call for the page before has returned. Returns the name of the next page; empty after the last.
  // Fails like list().
  virtual Result<std::string> list_page(const RequestContext& context, const Location& directory,
                                        const std::string& page, const TakeEntry& take) const {
    static_cast<void>(page);  // all entries are one page
    TRY(list(context, directory, {}, take));
    return std::string();
  }
  // Returns how the text of a location that is in `directory` ends if its name is `name`.
  virtual std::string name_in_text(const Location& directory, std::string_view name) const {
    static_cast<void>(directory);
    return std::string(name);
  }
  // Returns Source::filesystem() of the files in a directory that are on `device`.
  virtual std::uint64_t filesystem(const Location& directory, std::uint64_t device) const = 0;
  // Returns the local path that a confined process must be able to read for a file or directory; empty: none.
  virtual std::string local_path(const Location&) const { return {}; }
  // Returns the text of a location that was named in this way: the word without its secrets. Returns the same for its
  // own results. Called when the location is made; may block briefly.
  virtual std::string text_of(std::string word, Location::NamedBy) const { return word; }
  // Returns how many of a text's first bytes are a path. The query of a URL follows them.
  virtual std::size_t path_size(std::string_view text) const { return text.size(); }
  // Returns the ranges of a file that are read first once it is open, the most useful one first; none if that is not
  // known. `source`: SourceId::source of the file.
  using FirstReads = std::function<std::vector<ByteRange>(const std::string& source)>;
  // Hints that a file is opened next, and what is read of it then. A storage of a server requests these bytes in place
  // of the first ones. They may be wrong: that costs a request, and changes nothing that is read.
  virtual void expect_reads(const Location&, const FirstReads&) const {}
  // Does what a confined process cannot do, if locations of the storage were made. Called before the process is
  // confined.
  virtual void prepare() const {}
};

const Storage& local_storage();

// Adds a storage of the URLs "SCHEME:..." for all later Locations. Call it before the process has threads.
void add_storage(std::string scheme, std::shared_ptr<const Storage> storage);

// Calls Storage::prepare() of all storages. Call it before the process, or a thread of it, is confined.
void prepare_storages();

// Opens a file for reading, or for following. Fails as Storage::open().
inline Result<std::shared_ptr<const Source>> open_source(const RequestContext& context, const Location& location,
                                                         Storage::Use use = Storage::Use::kRead) {
  return location.storage().open(context, location, use);
}

// Returns the present state of a file or directory. Fails as Storage::status().
inline Result<SourceStatus> status_of(const RequestContext& context, const Location& location) {
  return location.storage().status(context, location);
}

// Returns whether an error says that there is no such file or directory.
bool is_not_there(const Error& error);

// Returns whether there is a directory. False if that cannot be found out.
bool is_directory(const Location& location);

}  // namespace recordfs
