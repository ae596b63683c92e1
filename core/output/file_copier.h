// Copies one file as it is, and continues an earlier copy of the same bytes.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "core/base/source.h"

namespace recordfs {

// Writes copies to a directory. Until a copy is complete it is a hidden file, whose name has a hash of the source's id
// and size. So a later copy of the same bytes finds what an ended process or a failure has left, and continues after
// the bytes that have their CopySums. That of other bytes removes it. Nothing is written through a symbolic link or to
// a file that has another name. Thread-safe.
class FileCopier {
 public:
  struct Failure {
    Error why;
    bool is_of_source = false;  // reading failed; otherwise creating or writing the copy did
    bool can_continue = false;  // what was copied is kept for a later copy
  };

  FileCopier(Descriptor directory, bool replaces) : directory_(std::move(directory)), replaces_(replaces) {}

  // Copies a source to the file `name`. Calls `progress` with the bytes that are copied, or that were already. Returns
  // nullopt on success. Fails with EEXIST if the name is taken, unless the copier replaces files; with EWOULDBLOCK if
  // another process copies the same; with kUnfinished if the source is shorter than it was; and as Source::read_next().
  // REQUIRES: the name has no slash, and is not empty, "." or "..".
  std::optional<Failure> copy(const Source& source, const std::string& name,
                              const std::function<void(std::uint64_t bytes)>& progress) const;

 private:
  // Opens the file that holds a copy until it is complete, and locks it. `unfinished`: its name without the end.
  Result<Descriptor> open_unfinished(const std::string& unfinished) const;
  // Removes what is left of copies of other bytes to the same name.
  void remove_others(const std::string& beginning, const std::string& unfinished) const;

  const Descriptor directory_;
  const bool replaces_;
};

}  // namespace recordfs
