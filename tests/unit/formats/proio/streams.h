// Makes streams for tests, and reads the content of a container.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/formats/container.h"

namespace recordfs::proio {

// A bucket's header fields and payload, valid or not.
struct BucketShape {
  std::vector<std::string> events{};
  std::vector<std::pair<std::string, std::string>> metadata{};
  std::vector<std::string> file_descriptors{};
  std::string more_header{};  // appended to the other fields
  std::string payload{};      // "": the events
  std::uint64_t stated_events = kRight;
  std::uint64_t stated_size = kRight;
  std::uint64_t compression = 0;

  static constexpr std::uint64_t kRight = ~std::uint64_t{0};
  // Returns the events, each preceded by its length.
  static std::string payload_of(const std::vector<std::string>& events);
};

std::string bucket(const BucketShape& shape);

// Encode fields of messages, and of an event.
std::string number(std::uint32_t field, std::uint64_t value);
std::string content(std::uint32_t field, std::string_view bytes);
std::string tag(std::string_view name, const std::vector<std::uint64_t>& ids);
std::string entry(std::uint64_t id, std::uint64_t type, std::string_view payload);
std::string type(std::uint64_t id, std::string_view name);

// Returns a FileDescriptorProto with a name and imports.
std::string file_descriptor(const std::string& name, const std::vector<std::string>& imports);
std::string magic();

std::shared_ptr<const Source> source_of(std::string_view bytes);
// Returns null if the format refuses the bytes.
std::unique_ptr<Container> open_bytes(std::string_view bytes, const Limits& limits = {});

struct Reading {
  std::vector<ChunkInfo> buckets;
  std::vector<DamagedRegion> damage;
  std::vector<std::string> events;  // "!" and the reason for an unreadable one
  std::uint64_t steps = 0;
};
Reading read_all(const Container& container, std::uint64_t size);
Reading read_bytes(std::string_view bytes, const Limits& limits = {});

// Returns "key=value" for each attribute.
std::vector<std::string> describe(const Result<std::vector<Attribute>>& attributes);

}  // namespace recordfs::proio
