#include "fusefs/data_set_source.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/storage.h"
#include "core/dataset/missing_shards.h"
#include "core/dataset/source_spec.h"
#include "core/store/open_container.h"
#include "fusefs/messages.h"

namespace recordfs {
namespace {

constexpr std::size_t kMostTried = 16;

// Logs the missing and the surplus shards, and counts the missing ones as damage.
void log_gaps(const ShardList& list, const Options& options, StoreResources& services) {
  for (const std::string& line : gap_messages(list, options.redact)) services.log(Severity::kWarning, line);
  services.damaged_places += list.missing();
}

// Returns the format of the first shard that can be opened, or is known from a saved index, of the first few that are
// present.
Result<std::string_view> first_format(const ShardList& list, ShardOpener& opener) {
  std::optional<Error> first;
  std::size_t tried = 0;
  for (std::size_t shard = 0; shard < list.shards.size() && tried < kMostTried; ++shard) {
    if (list.shards[shard].is_missing) continue;
    if (const auto known = opener.known_counts({}, shard, ScanDetail::kCounts)) return known->format;
    const auto opened = opener.open({}, shard);
    if (opened) return (*opened)->traits().format;
    if (tried++ == 0) first = Error{.code = Code::kIo, .detail = open_failure(opener.shown(shard), opened.error())};
  }
  if (first) return *first;
  return Error{.code = Code::kIo, .detail = opener.shown(0) + ": " + std::strerror(ENOENT)};
}

// The mounts of recordfs are left out, because a pattern may match the names in this mount.
IsContainer new_container_test() {
  return [](const std::string& path) -> Result<bool> {
    ASSIGN_OR_RETURN(const auto status, status_of({}, path));
    if (RecordfsMounts::of_process().contains(status.device)) return false;
    return is_container_file(path);
  };
}

std::unique_ptr<NewFiles> new_files(const ShardList& list, const Options& options, const StoreResources& services) {
  const auto report = [&options, &services](const std::string& path, const std::string& why) {
    services.log(Severity::kWarning, fmt::format("{}: {}", options.redact ? "a file" : path, why));
  };
  return std::make_unique<NewFiles>(options.sources, list, new_container_test(), report);
}

}  // namespace

Result<SetPlaces> places_of_set(const Options& options, const std::optional<ShardList>& manifest) {
  const auto any_file = [](const std::string&) -> Result<bool> { return true; };
  auto list = manifest ? Result<ShardList>(*manifest) : list_shards(options.sources, any_file);
  if (!list) return Error{.code = Code::kIo, .detail = list.error().detail};
  std::vector<Shard> local = list->shards;
  std::erase_if(local, [](const Shard& shard) {
    const Location location(shard.path);
    return location.storage().local_path(location).empty();
  });
  const auto examined = examine(local, options);
  const auto ignored = [](const std::string&, const std::string&) {};
  using Places = std::vector<std::string>;
  const Places tops = options.follow ? NewFiles(options.sources, *list, any_file, ignored).tops() : Places();
  SetPlaces places{.read = examined.places(tops), .listed = {}};
  if (manifest) return places;
  for (const std::string& word : options.sources) {
    const auto directories = directories_of(word);
    places.listed.insert(places.listed.end(), directories.begin(), directories.end());
  }
  return places;
}

Result<DataSetFiles> join_sources(const Options& options, StoreResources& services, std::optional<ShardList> manifest) {
  auto list = manifest ? Result<ShardList>(*std::move(manifest)) : SourceSpec{.words = options.sources}.shards();
  if (!list) return Error{.code = Code::kIo, .detail = list.error().detail};
  auto examined = examine(list->shards, options);
  const std::size_t shards = list->shards.size();
  const std::size_t most = options.follow ? ShardNumbers::most_followed(shards) : 0;
  services.address_bits = ShardNumbers::value_bits(std::max(shards, most)) - 1;
  const auto opener = std::make_shared<ShardOpener>(options, services);
  opener->add(std::move(examined.files));
  ASSIGN_OR_RETURN(const auto format, first_format(*list, *opener));
  log_gaps(*list, options, services);
  services.log(Severity::kDetail, fmt::format("a data set: {}", counted(shards, "shard")));
  DataSetFiles joined{.opener = opener};
  if (options.follow) joined.new_files = new_files(*list, options, services);
  joined.places = examined.places(options.follow ? joined.new_files->tops() : std::vector<std::string>());
  joined.source = {
      .name = {},
      .list = std::move(*list),
      .ownerships = std::move(examined.ownerships),
      .stored = examined.stored,
      .format = format,
      .open = [opener](const RequestContext& context, std::size_t shard) { return opener->open(context, shard); },
      .known = [opener](const RequestContext& context, std::size_t shard, const Shard&,
                        ScanDetail detail) { return opener->known_counts(context, shard, detail); },
      .most_shards = most};
  return joined;
}

}  // namespace recordfs
