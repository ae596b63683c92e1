#include "fusefs/daemon_confinement.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/base/descriptor.h"
#include "core/base/storage.h"
#include "core/decoding/protobuf_module.h"
#include "core/store/saved_index.h"
#include "fusefs/confinement/confinement.h"
#include "fusefs/data_set_source.h"
#include "fusefs/database_source.h"
#include "fusefs/tree/mirror/rooted_dir.h"

namespace recordfs {
namespace {

// Returns what the daemon accesses. It is called before anything is parsed, and before the mount may cover a source.
AllowedPaths allowed_paths(const SetPlaces& places, const Options& options, const StoreResources& services) {
  AllowedPaths allowed;
  allowed.reads_all_owners = true;
  allowed.watches = options.follow;
  const auto allow = [](const Location& place, std::vector<Descriptor>& to) {
    const std::string path = place.storage().local_path(place);
    if (!path.empty()) to.push_back(found_at(path));
  };
  for (const std::string& place : places.read) allow(place, allowed.readable);
  for (const std::string& place : places.listed) allow(place, allowed.listed);
  for (const std::string& place : options.table_directories) allowed.readable.push_back(found_at(place));
  for (const std::string& place : {options.wal_directory, options.descriptors}) {
    if (!place.empty()) allowed.readable.push_back(found_at(place));
  }
  if (services.index && !services.index->directory.empty()) {
    make_directory(*services.index);
    allowed.saved.push_back(found_at(services.index->directory));
  }
  // For libprotobuf, if a source turns out to need it.
  const std::vector<std::string> libraries = protobuf_module_places();
  for (const std::string& place : libraries) allowed.readable.push_back(found_at(place));
  allowed.loads_code = !libraries.empty();
  // Each thread of the loop opens the device.
  allowed.devices.push_back(found_at("/dev/fuse"));
  return allowed;
}

// Returns the sources, and the directories that databases among them name for their write-ahead logs.
std::vector<std::string> places_of_sources(const Options& options) {
  std::vector<std::string> places = options.sources;
  for (const std::string& source : options.sources) {
    auto logs = options.wal_directory.empty() ? wal_directory_of(source) : std::string();
    if (!logs.empty()) places.push_back(std::move(logs));
  }
  return places;
}

}  // namespace

Result<void> confine_daemon(const Options& options, const std::optional<ShardList>& manifest,
                            const StoreResources& services) {
  const auto places = options.join ? places_of_set(options, manifest)
                                   : Result<SetPlaces>(SetPlaces{.read = places_of_sources(options), .listed = {}});
  if (!places) return places.error();
  RecordfsMounts::of_process();
  prepare_storages();
  for (const std::string& kept : confine(allowed_paths(*places, options, services)))
    services.log(Severity::kWarning, "privilege not dropped: " + kept);
  return {};
}

bool opens_files_later(const Options& options) {
  return options.join ||
         std::ranges::any_of(options.sources, [](const std::string& source) { return is_directory(source); });
}

}  // namespace recordfs
