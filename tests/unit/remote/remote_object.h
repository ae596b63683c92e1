// A remote object that a FakeFetcher serves.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/remote/remote_source.h"
#include "core/remote/session.h"
#include "tests/unit/remote/fake_fetcher.h"

namespace recordfs::testing {

inline constexpr const char* kName = "http://host/x";

// A session with one object.
struct Setting {
  explicit Setting(std::string bytes, FakeFetcher::Intercept intercept = {}, std::uint64_t memory = 64u << 20)
      : fake({{kName, {std::move(bytes)}}}, std::move(intercept)),
        session(memory, [this](bool) { return fake.client(); }) {}

  std::shared_ptr<const remote::RemoteSource> open(const std::vector<ByteRange>& reads = {}) {
    auto source = remote::RemoteSource::open({}, session, kName, "x", reads);
    return source ? *source : nullptr;
  }

  FakeFetcher fake;
  remote::Session session;
};

// Returns the bytes, or "failed: " and why.
inline std::string read(const Source& source, Position at, std::size_t size) {
  auto bytes = read_up_to({}, source, at, size);
  return bytes ? std::string(as_text(bytes->view())) : "failed: " + bytes.error().detail;
}

}  // namespace recordfs::testing
