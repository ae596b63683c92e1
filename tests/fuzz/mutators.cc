#include <algorithm>
#include <array>
#include <utility>

#include "tests/fuzz/mutator.h"

namespace recordfs::fuzz {

const Mutator* mutator_of(std::string_view folder) {
  using Entry = std::pair<std::string_view, const Mutator*>;
  static constexpr std::array kMutators = {
      Entry{"array_record", &kRiegeliMutator},  // its files are Riegeli files
      Entry{"bloscpack", &kBloscpackMutator},
      Entry{"leveldb_log", &kLeveldbLogMutator},
      Entry{"leveldb_table", &kLeveldbTableMutator},
      Entry{"proio", &kProioMutator},
      Entry{"recordio", &kRecordioMutator},
      Entry{"riegeli", &kRiegeliMutator},
      Entry{"rocksdb_blob", &kRocksdbBlobMutator},
      Entry{"tfrecord", &kTfrecordMutator},
      Entry{"wandb", &kWandbMutator},
  };
  const auto found = std::ranges::find(kMutators, folder, &Entry::first);
  return found == kMutators.end() ? nullptr : found->second;
}

}  // namespace recordfs::fuzz
