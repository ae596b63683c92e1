// The sources of a mount: files and directories, opened as its options say.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/store/record_store.h"
#include "fusefs/follow/followed_file.h"
#include "fusefs/options.h"
#include "fusefs/tree/mount_tree.h"

namespace recordfs {

// How the log and messages call a source: by its path, or with -o redact by its number.
std::string shown_source(const Options& options, std::size_t number);

struct OpenedSources {
  std::vector<MountSource> sources;                       // in the order of the options
  std::vector<std::unique_ptr<FollowedFile>> followed{};  // with -o follow, those that are files
};

// Opens all sources. `services` has to outlive what comes of it. Fails with the first that can't be opened: the error's
// detail is a whole message.
Result<OpenedSources> open_sources(const Options& options, Services& services);

// How the files of mirrored directories are opened. Both arguments have to outlive the mount.
MirrorSettings mirror_settings(const Options& options, Services& services);

// Services::address_bits for these sources.
unsigned address_bits(const Options& options);

}  // namespace recordfs
