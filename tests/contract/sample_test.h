// The fixture of all contract tests: one sample, and ways to open and to damage it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/contract/reading.h"
#include "tests/contract/rules.h"
#include "tests/contract/samples.h"

namespace recordfs::contract {

// A source over bytes that the caller keeps.
std::shared_ptr<const Source> source_of(std::string_view bytes);

class SampleTest : public ::testing::TestWithParam<Sample> {
 protected:
  const Sample& sample() const { return GetParam(); }
  std::string_view bytes() const { return *bytes_; }

  // The sample as it is; null where its format refuses it, which fails the test unless it is damaged.
  std::unique_ptr<Container> open_sample(const Limits& limits = Limits{}) const;
  Result<std::unique_ptr<Container>> open(std::string_view bytes, const Limits& limits = Limits{}) const;
  // Everything that `bytes` give; nothing when they are refused.
  Reading read(std::string_view bytes, const Limits& limits = Limits{}) const;

  // How often a test may go over a file of `cost` bytes, and at least `least` times. RECORDFS_THOROUGH=N
  // in the environment multiplies it.
  static std::uint64_t rounds(std::uint64_t cost, std::uint64_t least);

  // `count` places in the file worth a change, in order and each once: around the borders of chunks, frames and
  // regions, and others by chance.
  std::vector<Position> places(const Walk& walk, std::uint64_t count) const;

 private:
  const std::shared_ptr<const std::string> bytes_ = sample().bytes();
};

inline std::string name_of(const ::testing::TestParamInfo<Sample>& info) { return info.param.name; }

// "" for none, otherwise the first few lines.
std::string joined(const Violations& broken);

}  // namespace recordfs::contract

#define RECORDFS_FOR_EACH(samples, Suite) \
  INSTANTIATE_TEST_SUITE_P(Each, Suite, ::testing::ValuesIn(samples), recordfs::contract::name_of)
