// From a path to a container that can be read: what the mount and the commands share.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/limits.h"
#include "core/base/source.h"
#include "core/store/record_store.h"

namespace recordfs {

struct OpenedFile {
  std::string name;  // without directories
  std::shared_ptr<const RecordStore> store;
  FileSource::Status status;
};

// Opens a file of any format and reads its head. `services` has to outlive the store. The log calls it `shown`; empty:
// by its path. Fails as FileSource::open and open_container do. Any thread.
Result<OpenedFile> open_file(const std::string& path, const Limits& limits, Services& services,
                             const std::string& shown = {});

// The same for a file that is open for reading already. `path` is for people.
Result<OpenedFile> open_file(Descriptor file, const std::string& path, const Limits& limits, Services& services,
                             const std::string& shown = {});

// Returns whether a format knows the head of a source: what a listing of a directory can afford. False for an empty
// source, since only its name could tell. Fails as Source does.
Result<bool> is_container(const Source& source, std::string_view file_name);

// "data.log: No such file or directory", "data.log: byte 65536: chunk header hash mismatch".
std::string open_failure(const std::string& path, const Error& error);

// Where `-o index=` says that catalogs are saved: "no", "auto", or a directory, which is taken from where the program
// was started. nullopt: nowhere. Fails with kIo where no such directory can be there.
Result<std::optional<IndexLocation>> index_place(const std::string& index, const Limits& limits);

// Threads for a process that reads containers: all cores may decode ahead, and one more is left for who waits.
unsigned executor_threads();

}  // namespace recordfs
