// Metadata: what a container stores about itself and the types of its records.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/formats/chunk_info.h"

namespace recordfs {

// A metadata value. Keys may be any bytes and may repeat.
struct Attribute {
  std::string key;
  std::string type;   // the format's name for the value's type, "" if it has none
  std::string value;  // raw bytes
};

// The metadata of one container, read on demand. Const and thread-safe, lives as long as the container. All functions
// but varies() and has_descriptors() may read; they fail with kDamage, kUnsupported or kLimit if the metadata cannot
// be read, and with kIo, kChanged, kOutOfMemory.
class Metadata {
 public:
  virtual ~Metadata() = default;

  // Returns the container's metadata. If `last` is null, returns what is known at open. Otherwise `last` is the last
  // chunk of the scan and varies() is true; returns the values in effect there.
  virtual Result<std::vector<Attribute>> attributes(const RequestContext& context, const ChunkInfo* last) const = 0;

  // Returns whether the metadata changes along the file.
  virtual bool varies() const { return false; }
  // Returns the metadata in effect at a chunk, for the chunk's info.json.
  virtual Result<std::vector<Attribute>> attributes_at(const RequestContext& context, const ChunkInfo&) const {
    return attributes(context, nullptr);
  }

  // Returns the full name of the protobuf type of every record. Empty if the container does not state it, or if the
  // metadata that states it is damaged. Valid as long as the container. Fails only with errors that may pass, as kIo.
  virtual Result<std::string_view> record_type(const RequestContext&) const { return std::string_view(); }
  // Returns the media type of every record if the container states it; empty otherwise. Static storage.
  virtual Result<std::string_view> record_media_type(const RequestContext&) const { return std::string_view(); }

  // Returns whether the file may contain descriptors of protobuf types.
  virtual bool has_descriptors() const { return false; }
  // Returns the descriptors in effect at a chunk: one serialized google.protobuf.FileDescriptorSet, unverified, its
  // files in any order; null for none. Chunks with the same descriptors share one object if possible.
  virtual Result<std::shared_ptr<const std::string>> descriptors(const RequestContext&, const ChunkInfo&) const {
    return std::shared_ptr<const std::string>();
  }
};

}  // namespace recordfs
