#include "tests/contract/samples.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "tests/contract/format_folder.h"
#include "tests/toy/toy_format.h"

namespace recordfs::contract {
namespace {

namespace fs = std::filesystem;

// Returns the corpus folder. RECORDFS_CORPUS in the environment names another folder, for samples outside the project.
fs::path corpus() {
  const char* const other = std::getenv("RECORDFS_CORPUS");
  return other ? other : "tests/corpus";
}

constexpr std::string_view kExpectation = ".expect.json";

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) {
    std::cerr << "cannot read " << path << std::endl;
    std::abort();
  }
  return std::move(text).str();
}

std::string as_test_name(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return text;
}

void add_corpus(const Format& format, std::vector<Sample>& samples) {
  const fs::path folder = corpus() / folder_of(format);
  if (!fs::exists(folder)) return;
  std::vector<std::string> paths;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().native().ends_with(kExpectation)) paths.push_back(entry.path().native());
  }
  std::ranges::sort(paths);
  for (const std::string& path : paths) {
    Sample sample;
    sample.path = path.substr(0, path.size() - kExpectation.size());
    sample.file_name = fs::relative(sample.path, folder).native();
    sample.name = as_test_name(folder_of(format) + "_" + sample.file_name);
    sample.format = &format;
    sample.want = parse_expectation(read_file(path));
    samples.push_back(std::move(sample));
  }
}

}  // namespace

std::shared_ptr<const std::string> Sample::bytes() const {
  if (made) return made;
  static std::map<std::string, std::shared_ptr<const std::string>> known;
  auto& found = known[path];
  if (!found) found = std::make_shared<const std::string>(read_file(path));
  return found;
}

std::ostream& operator<<(std::ostream& out, const Sample& sample) { return out << sample.name; }

std::vector<const Format*> all_formats() {
  std::vector<const Format*> all;
  for (const Format& format : formats()) all.push_back(&format);
  all.push_back(&toy::kFormat);
  return all;
}

const std::vector<Sample>& all_samples() {
  static const std::vector<Sample> all = [] {
    std::vector<Sample> samples;
    for (const Format& format : formats()) add_corpus(format, samples);
    std::ranges::move(toy_samples(), std::back_inserter(samples));
    return samples;
  }();
  return all;
}

std::vector<Sample> containers() {
  const char* const text = std::getenv("RECORDFS_ONE_SAMPLE_IN");
  const std::size_t one_in = std::max<std::size_t>(text != nullptr ? std::strtoull(text, nullptr, 10) : 1, 1);
  std::vector<Sample> some;
  std::size_t seen = 0;
  std::ranges::copy_if(all_samples(), std::back_inserter(some),
                       [&](const Sample& sample) { return !sample.want.refused && seen++ % one_in == 0; });
  return some;
}

std::vector<Sample> undamaged_containers() {
  std::vector<Sample> some = containers();
  std::erase_if(some, [](const Sample& sample) { return sample.want.damaged; });
  return some;
}

}  // namespace recordfs::contract
