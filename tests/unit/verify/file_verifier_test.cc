#include "core/verify/file_verifier.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/formats/proio/streams.h"
#include "tests/unit/support/temp_folder.h"

namespace recordfs {
namespace {

TEST(FileVerifier, OutcomesComeInOrderUntilTheCallerEndsIt) {
  const testing::TempFolder folder;
  // proio has no checksums, so that a good file is unchecked.
  const std::string good = proio::bucket({.events = std::vector<std::string>(3, "event")});
  folder.write("good", good);
  folder.write("damaged", good + "garbage" + good);
  folder.write("other", "no container");
  StoreResources services(1u << 20, 1, [](Severity, const std::string&) {});
  std::atomic<int> left{100};  // questions whether to go on
  std::atomic<std::uint64_t> bytes{0};
  const FileVerifier::Caller caller{
      .open = [&](const RequestContext& context,
                  const std::string& path) { return open_file(context, path, {}, services, path); },
      .goes_on = [&left] { return --left > 0; },
      .has_read = [&bytes](std::uint64_t more) { bytes += more; }};
  const FileVerifier::Options options{.threads = 2};
  const CheckedDatabases databases({}, 1);
  std::vector<std::string> states;
  const auto take = [&states](std::size_t, Outcome& outcome) {
    states.push_back(outcome.is_ignored ? "ignored" : std::string(outcome.state()));
  };
  const auto file = [&folder](const char* name, bool was_found) {
    return ListedFile{.path = folder / name, .was_found = was_found};
  };
  const std::vector<ListedFile> files = {file("damaged", false), file("good", false), file("other", true),
                                         file("other", false)};
  FileVerifier(options, caller, databases, nullptr).verify_all(files, take);
  EXPECT_EQ(states, (std::vector<std::string>{"damaged", "unchecked", "ignored", "unreadable"}));
  EXPECT_EQ(bytes, 3 * good.size() + 7 + 24);
  states.clear();
  left = 0;
  FileVerifier(options, caller, databases, nullptr).verify_all(files, take);
  EXPECT_TRUE(states.empty());
}

}  // namespace
}  // namespace recordfs
