// Opens the sources of a mount, files and directories.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/dataset/shard_list.h"
#include "core/store/record_store.h"
#include "fusefs/follow/growing_file.h"
#include "fusefs/follow/new_files.h"
#include "fusefs/options.h"
#include "fusefs/shard_files.h"
#include "fusefs/tree/mount_tree.h"

namespace recordfs {

// Limits of a search for containers: a large or slow directory must not delay the mount.
struct SearchBounds {
  std::size_t entries = 256;            // files and directories to check
  std::chrono::milliseconds time{200};  // checks no further entry after it
};

// Returns false only if the search saw everything below `directory` and no file is a container. Returns true if it
// found one, reached a limit, or could not read something. Does not follow symbolic links or enter other filesystems.
bool may_have_containers(const std::string& directory, const SearchBounds& bounds = {});

// Returns a source's name in log and messages: its path, or with -o redact its number.
std::string shown_source(const Options& options, std::size_t number);

struct OpenedSources {
  std::vector<MountSource> sources;                      // in the order of the options; with -o join one data set
  std::vector<std::unique_ptr<GrowingFile>> followed{};  // the files among them, with -o follow
  std::shared_ptr<ShardOpener> shards{};                 // opens the files of the data set; null without -o join
  std::unique_ptr<NewFiles> new_shards{};                // finds more of them, with -o follow
  std::vector<std::string> places{};                     // paths that include everything that is read
};

// Applies the options that replace owner and permissions.
void override_ownership(Ownership& ownership, const Options& options);

// Opens all sources. `manifest`: the files that -o manifest lists. Fails with the error of the first that cannot be
// opened; the detail is a whole message. `services` must outlive the results.
Result<OpenedSources> open_sources(const Options& options, StoreResources& services, std::optional<ShardList> manifest);

// Returns how containers of mirrored directories are opened. Both arguments must outlive the mount.
MirrorSettings mirror_settings(const Options& options, StoreResources& services);

// Returns the value for StoreResources::address_bits.
unsigned address_bits(const Options& options);

}  // namespace recordfs
