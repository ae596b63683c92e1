#include "core/formats/registry.h"
#include "tests/contract/format_folder.h"
#include "tests/fuzz/target.h"

namespace recordfs::fuzz {
namespace {

struct NamedTarget {
  std::string_view name;
  Target (*make)();
};

constexpr NamedTarget kTargets[] = {
    {"database", database_target}, {"saved_index", saved_index_target},
    {"origins", origins_target},
#ifdef RECORDFS_FUZZ_FETCHER
    {"fetcher", fetcher_target},
#endif
#ifdef RECORDFS_FUZZ_DECODING
    {"decoding", decoding_target},
#endif
#ifdef RECORDFS_FUZZ_MOUNTED
    {"tree", tree_target},         {"views", views_target},
#endif
};

}  // namespace

Target find_target(std::string_view name) {
  for (const NamedTarget& target : kTargets) {
    if (target.name == name) return target.make();
  }
  return container_target(name);
}

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (const Format& format : formats()) names.push_back(contract::folder_of(format));
  for (const NamedTarget& target : kTargets) names.emplace_back(target.name);
  return names;
}

}  // namespace recordfs::fuzz
