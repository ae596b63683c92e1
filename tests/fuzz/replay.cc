// Processes each file of the given folders like the fuzz target, without libFuzzer:
//
//   fuzz_replay TARGET FOLDER_OR_FILE...
//   fuzz_replay --list                      prints the names of the targets
//
// Prints the name of each file before it is processed, so the last name printed is the one that failed.
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/fuzz/target.h"
#include "tests/unit/support/read_file.h"

namespace {

namespace fs = std::filesystem;

void replay(const recordfs::fuzz::Target& target, const fs::path& path) {
  const std::string bytes = recordfs::testing::read_file(path);
  std::printf("%s (%zu bytes)\n", path.c_str(), bytes.size());
  std::fflush(stdout);
  target.run_input(recordfs::as_bytes(bytes));
}

std::vector<fs::path> files_in(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file() && entry.path().extension() != ".json") files.push_back(entry.path());
  }
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--list") {
    for (const std::string& name : recordfs::fuzz::target_names()) std::printf("%s\n", name.c_str());
    return 0;
  }
  if (argc < 3) {
    std::fprintf(stderr, "usage: fuzz_replay TARGET FOLDER_OR_FILE...\n");
    return 2;
  }
  const recordfs::fuzz::Target target = recordfs::fuzz::find_target(argv[1]);
  std::size_t count = 0;
  for (int i = 2; i < argc; ++i) {
    for (const fs::path& path : files_in(argv[i])) {
      replay(target, path);
      ++count;
    }
  }
  std::printf("%zu files\n", count);
  return count > 0 ? 0 : 1;
}
