#include "tests/unit/remote/fake_fetcher.h"

#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace recordfs::testing {

using remote::Reply;
using remote::Request;
using remote::RequestKind;

std::string some_bytes(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>((i * 31 + i / 4096) % 251);
  return bytes;
}

FakeFetcher::FakeFetcher(std::map<std::string, FakeObject> objects, Intercept intercept,
                         std::chrono::milliseconds patience)
    : intercept_(std::move(intercept)), objects_(std::move(objects)) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
  socket_ = Descriptor(ends[0]);
  auto arena = remote::Arena::make();
  if (!arena) std::abort();
  void* const memory =
      ::mmap(nullptr, remote::Arena::kSize, PROT_READ | PROT_WRITE, MAP_SHARED, (*arena)->descriptor(), 0);
  if (memory == MAP_FAILED) std::abort();
  memory_ = static_cast<char*>(memory);
  client_ = std::make_shared<remote::Fetcher>(Descriptor(ends[1]), std::move(*arena), patience);
  thread_ = std::thread([this] { run(); });
}

FakeFetcher::~FakeFetcher() {
  die();
  thread_.join();
  ::munmap(memory_, remote::Arena::kSize);
}

void FakeFetcher::die() const { ::shutdown(socket_.number(), SHUT_RDWR); }

void FakeFetcher::send(const std::string& packet) const {
  static_cast<void>(::send(socket_.number(), packet.data(), packet.size(), MSG_NOSIGNAL));
}

void FakeFetcher::fill(const Request& request, const std::string& bytes) const {
  bytes.copy(memory_ + request.arena, bytes.size());
}

void FakeFetcher::replace(const std::string& name, FakeObject object) {
  const std::lock_guard lock(mutex_);
  objects_[name] = std::move(object);
}

std::vector<Request> FakeFetcher::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

std::size_t FakeFetcher::count(RequestKind kind) const {
  const auto all = requests();
  return static_cast<std::size_t>(std::ranges::count(all, kind, &Request::kind));
}

void FakeFetcher::run() {
  std::array<std::byte, remote::kMostPerMessage> packet;
  for (;;) {
    const ssize_t got = ::recv(socket_.number(), packet.data(), packet.size(), 0);
    if (got <= 0) return;
    const auto request = remote::parse_request(Bytes(packet).first(static_cast<std::size_t>(got)));
    if (!request) std::abort();
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(*request);
    }
    if (!intercept_ || intercept_(*request)) serve(*request);
  }
}

void FakeFetcher::serve(const Request& request) {
  Reply answer{.id = request.id};
  {
    const std::lock_guard lock(mutex_);
    std::string name = request.name;
    if (request.kind == RequestKind::kRead && request.object <= opened_.size()) name = opened_[request.object - 1];
    const auto found = objects_.find(name);
    switch (request.kind) {
      case RequestKind::kClose:
      case RequestKind::kCancel: return;
      case RequestKind::kName: answer.text = name.substr(0, name.find('?')); break;
      case RequestKind::kOpen:
      case RequestKind::kRead:
      case RequestKind::kStatus:
      case RequestKind::kList:
        if (found == objects_.end()) {
          answer.failure = Code::kIo;
          answer.os_error = ENOENT;
          answer.text = "404 Not Found";
          break;
        }
        if (request.kind == RequestKind::kOpen && request.begin != 0 && request.begin >= found->second.bytes.size()) {
          answer.failure = Code::kChanged;
          break;
        }
        if (request.kind == RequestKind::kOpen) {
          opened_.push_back(name);
          answer.object = opened_.size();
        }
        const std::string bytes =
            found->second.bytes.substr(std::min<std::size_t>(request.begin, found->second.bytes.size()), request.size);
        fill(request, bytes);
        answer.received = bytes.size();
        answer.size = found->second.bytes.size();
        answer.version = found->second.version;
        answer.is_settled = found->second.is_settled;
        break;
    }
  }
  reply(answer);
}

}  // namespace recordfs::testing
