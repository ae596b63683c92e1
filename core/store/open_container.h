// Opens containers, and reads the record types that a command line names, for the mount and the commands.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/base/storage.h"
#include "core/decoding/descriptor_set.h"
#include "core/store/record_store.h"

namespace recordfs {

// Reads a file of descriptors, as `protoc --descriptor_set_out` writes it; `type` may be empty. Without a file, `type`
// is one that containers describe. Fails with kIo if the file cannot be read, with kLimit if it exceeds 256 MiB, and as
// user_types() does. Thread-safe.
Result<UserTypes> read_user_types(const std::string& descriptors, const std::string& type);

struct OpenedFile {
  std::string name;  // without directories
  std::shared_ptr<const RecordStore> store;
  std::shared_ptr<const Source> source;  // of the store, without a window
};

// Opens a file of any format, and logs the container's fact "note". The log names it `shown`, or as its location if
// that is empty. Fails as Storage::open() and open_container do. `services` must outlive the store. Thread-safe.
Result<OpenedFile> open_file(const RequestContext& context, const Location& location, const Limits& limits,
                             StoreResources& services, const std::string& shown = {});

// The same for a source that is open.
Result<OpenedFile> open_file(const RequestContext& context, std::shared_ptr<const Source> file, const Limits& limits,
                             StoreResources& services, const std::string& shown);

// Hints that a file is opened next, and a record of it read, if an ordinal is given: see Storage::expect_reads(). A
// saved index tells where these bytes are. Thread-safe.
void expect_open(const RequestContext& context, const Location& location, std::optional<std::uint64_t> ordinal,
                 const StoreResources& services);

// Hints the same for the one of several files, opened next, that has record `ordinal` of all of them. Does nothing if
// saved indexes do not tell which one that is. Thread-safe.
void expect_open_among(const RequestContext& context, std::span<const std::string> files, std::uint64_t ordinal,
                       const StoreResources& services);

// Returns whether a format recognizes the head of the source, which is cheap enough for directory listings. False for
// an empty source, whose format only the name could tell. Fails as Source does.
Result<bool> is_container(const RequestContext& context, const Source& source, std::string_view file_name);

// The same for a file. Also fails as Storage::open().
Result<bool> is_container_file(const Location& location);
// Returns whether a file has the name of a container and is not empty, so that it should be one. Thread-safe.
bool should_be_container(const Location& location);

// Returns "data.log: No such file or directory", "data.log: byte 65536: chunk header hash mismatch".
std::string open_failure(const std::string& path, const Error& error);

// Returns where `-o index=` saves catalogs: "no", "auto", or a directory relative to the current one. An index file
// (kIndexSuffix) is read now, and used besides "auto". nullopt: nowhere. Fails with kIo if the directory is impossible,
// and like read_index_file().
Result<std::optional<IndexLocation>> index_place(const std::string& index, const Limits& limits);

// Returns a hash of the sources of core and of the codecs that were built, in hexadecimal. Programs with the same one
// find the same in a file. Thread-safe.
std::string build_id();

// Returns the executor's size: a thread per core (at most 15) to decode ahead, and one for waiting requests.
unsigned executor_threads();

}  // namespace recordfs
