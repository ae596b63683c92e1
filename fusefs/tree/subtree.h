// Subtree: nodes of a mount whose numbers have the same kinds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/decoding/file_names.h"
#include "fusefs/tree/file_status.h"

namespace recordfs {

// What can be at the root of a mount or below it: containers, a data set, a database, mirrored directories, or the
// directory of several sources. MountTree finds the subtree of a node by the node's number.
//
// Thread-safe. Functions fail with kNotFound for a number that names no node. They may block as far as RequestContext
// permits, and return kPending as View does.
class Subtree {
 public:
  Subtree() = default;
  virtual ~Subtree() = default;
  Subtree(const Subtree&) = delete;
  Subtree& operator=(const Subtree&) = delete;

  // A node that a name means; `status` only if the lookup has cost it.
  struct LookupResult {
    std::uint64_t number = 0;
    std::optional<FileStatus> status{};
  };
  // Looks up a name in a directory. Adds a reference to a counted number, which may be of another subtree.
  virtual Result<LookupResult> lookup(const RequestContext& context, std::uint64_t directory,
                                      std::string_view name) = 0;
  // Removes references from a number.
  virtual void forget(std::uint64_t number, std::uint64_t lookups) = 0;
  virtual Result<FileStatus> status(const RequestContext& context, std::uint64_t number) = 0;
  // Emits the entries of a directory without "." and "..", as View::list() does.
  virtual Result<void> list(const RequestContext& context, std::uint64_t directory, std::uint64_t place,
                            const EmitEntry& emit) = 0;

  // The first is the handle of a directory that must be opened to be listed (Mirror::list()); otherwise 0.
  struct OpenedDirectory {
    std::uint64_t handle = 0;
    bool is_constant = false;  // the kernel may cache the listing
  };
  virtual Result<OpenedDirectory> open_directory(const RequestContext&, std::uint64_t) { return OpenedDirectory{}; }
  // Returns whether a directory may get new names.
  virtual bool may_gain_names(const RequestContext&, std::uint64_t) { return true; }

  // Return the inode number of a node, or of a directory's parent, or that of the root if the number is invalid.
  virtual std::uint64_t inode(const RequestContext& context, std::uint64_t number) = 0;
  virtual std::uint64_t parent_inode(const RequestContext& context, std::uint64_t directory) = 0;
  virtual Result<std::string> target(const RequestContext&, std::uint64_t) { return no_such_name(); }
  // Returns up to `length` bytes of a file from `offset`, and fewer only at its end.
  virtual Result<Slice> read(const RequestContext&, std::uint64_t, std::uint64_t, std::uint64_t) {
    return no_such_name();
  }

  // Returns the names of a node's extended attributes, each terminated by a zero byte.
  virtual std::string extended_names(const RequestContext&, std::uint64_t) { return {}; }
  // Fails with kNotFound if the node has none of that name.
  virtual Result<std::string> extended_attribute(const RequestContext&, std::uint64_t, std::string_view) {
    return Error{.code = Code::kNotFound, .detail = "no such attribute"};
  }
};

}  // namespace recordfs
