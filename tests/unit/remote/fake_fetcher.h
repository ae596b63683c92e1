// A fetcher for tests: a thread that serves objects in memory, or does what a fetcher must not do.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/base/descriptor.h"
#include "core/remote/arena.h"
#include "core/remote/fetcher.h"
#include "core/remote/protocol.h"

namespace recordfs::testing {

struct FakeObject {
  std::string bytes;
  std::string version = "\"1\"";
  bool is_settled = true;
};

class FakeFetcher {
 public:
  // Returns false if it has replied itself, or does not.
  using Intercept = std::function<bool(const remote::Request& request)>;

  explicit FakeFetcher(std::map<std::string, FakeObject> objects, Intercept intercept = {},
                       std::chrono::milliseconds patience = std::chrono::seconds(60));
  ~FakeFetcher();
  FakeFetcher(const FakeFetcher&) = delete;
  FakeFetcher& operator=(const FakeFetcher&) = delete;

  // The client's end. May be used by the test's thread and by those that it starts.
  const std::shared_ptr<remote::Fetcher>& client() const { return client_; }

  void reply(const remote::Reply& reply) const { send(remote::packet(reply)); }
  void send(const std::string& packet) const;
  // Ends as a killed process does.
  void die() const;
  // Writes to the arena.
  void fill(const remote::Request& request, const std::string& bytes) const;
  void replace(const std::string& name, FakeObject object);

  // Requests that have come, in order.
  std::vector<remote::Request> requests() const;
  std::size_t count(remote::RequestKind kind) const;

 private:
  void run();
  void serve(const remote::Request& request);

  const Intercept intercept_;
  Descriptor socket_;
  char* memory_ = nullptr;
  std::shared_ptr<remote::Fetcher> client_;
  mutable std::mutex mutex_;  // guards the following
  std::map<std::string, FakeObject> objects_;
  std::vector<std::string> opened_;  // names, by object - 1
  std::vector<remote::Request> requests_;
  std::thread thread_;
};

// Returns bytes that differ from block to block.
std::string some_bytes(std::size_t size);

}  // namespace recordfs::testing
