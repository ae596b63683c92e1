// Names of TFRecord files, the only evidence for an empty file.
#pragma once

#include <string_view>

namespace recordfs::tfrecord {

// Returns whether the name is like "a.tfrecord", "a.tfrecords.gz", "a.tfrecord-00000-of-00010",
// "events.out.tfevents.1611911647.host", or a shard of anything, "a-00000-of-00010". Any thread.
bool is_name(std::string_view file_name);

}  // namespace recordfs::tfrecord
