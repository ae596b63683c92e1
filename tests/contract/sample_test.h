// The fixture of all contract tests: one sample, with functions to open and damage it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "core/store/log.h"
#include "tests/contract/reading.h"
#include "tests/contract/rules.h"
#include "tests/contract/samples.h"
#include "tests/run_tests.h"

namespace recordfs::contract {

// Returns a source over bytes that the caller keeps.
std::shared_ptr<const Source> source_of(std::string_view bytes);

class SampleTest : public ::testing::TestWithParam<Sample> {
 protected:
  const Sample& sample() const { return GetParam(); }
  std::string_view bytes() const { return *bytes_; }

  // Opens the unchanged sample. Returns null if its format refuses it, which fails the test unless the sample is
  // damaged.
  std::unique_ptr<Container> open_sample(const Limits& limits = Limits{}) const;
  Result<std::unique_ptr<Container>> open(std::string_view bytes, const Limits& limits = Limits{}) const;
  // Reads everything from `bytes`; empty if they are refused.
  Reading read(std::string_view bytes, const Limits& limits = Limits{}) const;

  // Returns how often a test may process a file of `cost` bytes, but at least `least`. RECORDFS_THOROUGH=N in the
  // environment multiplies it.
  static std::uint64_t rounds(std::uint64_t cost, std::uint64_t least);

  // Returns `count` distinct offsets worth changing, in order: around the borders of chunks, frames and regions, and
  // random ones.
  std::vector<Position> places(const Walk& walk, std::uint64_t count) const;

 private:
  const std::shared_ptr<const std::string> bytes_ = sample().bytes();
};

// A Log that discards its lines.
inline void discard_log(Severity, const std::string&) {}

inline std::string name_of(const ::testing::TestParamInfo<Sample>& info) { return info.param.name; }

// Returns "" for no violations, otherwise the first few lines.
std::string joined(const Violations& broken);

}  // namespace recordfs::contract

#define RECORDFS_FOR_EACH(samples, Suite)                                                                        \
  INSTANTIATE_TEST_SUITE_P(                                                                                      \
      Each, Suite,                                                                                               \
      ::testing::ValuesIn(recordfs::testing::is_selected(__FILE__) ? (samples)                                   \
                                                                   : std::vector<recordfs::contract::Sample>{}), \
      recordfs::contract::name_of)
