// A fast server of HTTP/1.1 for campaigns with very many requests, some of which fail in a random way.
//
//   faulty_server FOLDER FAULTS_PER_MILLION [SEED]
//
// Serves the files of a folder, as they are when it starts, on a free port of 127.0.0.1. Prints the port, and on
// SIGTERM how many requests it had, and how many of them failed in each way.
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <thread>

namespace {

struct File {
  std::string_view bytes;
  std::string etag;
};

enum Fault : std::size_t {
  kNone,
  kReset,
  kClose,
  kResetInHead,
  kResetInBody,
  kShortBody,
  kPause,
  kStatus408,
  kStatus429,
  kStatus500,
  kStatus502,
  kStatus503,
  kRetryAfter,
  kStatus504,
  kShifted,
  kNoContentRange,
  kBadContentRange,
  kOverlong,
  kFewerBytes,
  kWholeFile,
  kChunked,
  kUntilClose,
  kInformational,
  kWeakEtag,
  kOtherEtag,
  kOtherTotal,
  kFaults,
};
constexpr std::array<const char*, kFaults> kNames = {"none",
                                                     "reset",
                                                     "close",
                                                     "reset in head",
                                                     "reset in body",
                                                     "short body",
                                                     "pause",
                                                     "408",
                                                     "429",
                                                     "500",
                                                     "502",
                                                     "503",
                                                     "503 Retry-After",
                                                     "504",
                                                     "other bytes",
                                                     "no Content-Range",
                                                     "bad Content-Range",
                                                     "overlong body",
                                                     "fewer bytes",
                                                     "whole file",
                                                     "chunked",
                                                     "until close",
                                                     "103",
                                                     "weak ETag",
                                                     "other ETag",
                                                     "other total"};

std::map<std::string, File, std::less<>> files;
std::array<std::atomic<std::uint64_t>, kFaults> counts;
std::uint32_t faults_per_million = 0;
constexpr std::size_t kLargestWhole = 4u << 20;

void load(const std::filesystem::path& root) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file()) continue;
    const auto size = static_cast<std::size_t>(entry.file_size());
    const int file = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    void* const memory = size == 0 ? nullptr : ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
    ::close(file);
    const std::string name = "/" + std::filesystem::relative(entry.path(), root).string();
    const std::size_t hash = std::hash<std::string>()(name + std::to_string(size));
    files[name] = {.bytes = {static_cast<const char*>(memory), size}, .etag = '"' + std::to_string(hash) + '"'};
  }
}

// One connection.
class Connection {
 public:
  Connection(int socket, std::uint64_t seed) : socket_(socket), random_(seed) {}
  ~Connection() { ::close(socket_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void serve() {
    while (receive() && answer()) {
    }
  }

 private:
  bool receive() {
    in_.clear();
    for (;;) {
      std::array<char, 8192> buffer;
      const ssize_t got = ::recv(socket_, buffer.data(), buffer.size(), 0);
      if (got <= 0) return false;
      in_.append(buffer.data(), static_cast<std::size_t>(got));
      if (in_.ends_with("\r\n\r\n")) return true;
      if (in_.size() > 65536) return false;
    }
  }

  bool send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  bool reset() {
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    return false;
  }

  std::string_view header(std::string_view name) const {
    const std::size_t at = in_.find(name);
    if (at == std::string::npos) return {};
    const std::size_t begin = at + name.size();
    return std::string_view(in_).substr(begin, in_.find("\r\n", begin) - begin);
  }

  std::size_t below(std::size_t most) { return most == 0 ? 0 : random_() % most; }

  bool fail(const char* status, const char* more = "") {
    return send(std::string("HTTP/1.1 ") + status + "\r\n" + more + "Content-Length: 3\r\n\r\nno\n");
  }

  bool answer() {
    const bool is_faulty = random_() % 1'000'000 < faults_per_million;
    const auto fault = static_cast<Fault>(is_faulty ? 1 + below(kFaults - 1) : 0);
    ++counts[fault];
    switch (fault) {
      case kReset: return reset();
      case kClose: return false;
      case kStatus408: return fail("408 Request Timeout");
      case kStatus429: return fail("429 Too Many Requests");
      case kStatus500: return fail("500 Internal Server Error");
      case kStatus502: return fail("502 Bad Gateway");
      case kStatus503: return fail("503 Service Unavailable");
      case kRetryAfter: return fail("503 Service Unavailable", "Retry-After: 0\r\n");
      case kStatus504: return fail("504 Gateway Timeout");
      default: return answer_for_file(fault);
    }
  }

  bool answer_for_file(Fault fault) {
    const std::size_t end_of_target = in_.find(" HTTP/");
    const auto found =
        files.find(std::string_view(in_).substr(4, end_of_target == std::string::npos ? 0 : end_of_target - 4));
    if (found == files.end()) return fail("404 Not Found");
    const File& file = found->second;
    const std::string_view wanted = header("\r\nIf-Match: ");
    if (!wanted.empty() && wanted != file.etag) return fail("412 Precondition Failed");
    const std::string_view range = header("\r\nRange: bytes=");
    const std::size_t dash = range.find('-');
    if (dash == std::string_view::npos) return fail("400 Bad Request");
    std::size_t begin = 0, last = 0;
    std::from_chars(range.data(), range.data() + dash, begin);
    std::from_chars(range.data() + dash + 1, range.data() + range.size(), last);
    std::size_t end = std::min(last + 1, file.bytes.size());
    if (begin >= end) {
      return send("HTTP/1.1 416 Range Not Satisfiable\r\nContent-Range: bytes */" + std::to_string(file.bytes.size()) +
                  "\r\nContent-Length: 0\r\n\r\n");
    }
    return send_part(file, begin, end, fault);
  }

  bool send_part(const File& file, std::size_t begin, std::size_t end, Fault fault) {
    if (fault == kFewerBytes) end = begin + 1 + below(end - begin);
    if (fault == kShifted && end < file.bytes.size()) ++begin, ++end;
    const bool is_whole = fault == kWholeFile && file.bytes.size() <= kLargestWhole;
    const std::string_view body = is_whole ? file.bytes : file.bytes.substr(begin, end - begin);
    std::string head = is_whole ? "HTTP/1.1 200 OK\r\n" : "HTTP/1.1 206 Partial Content\r\n";
    if (fault == kInformational) head.insert(0, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n");
    std::string etag = file.etag;
    if (fault == kWeakEtag) etag.insert(0, "W/");
    if (fault == kOtherEtag) etag.insert(1, "x");
    head += "ETag: " + etag + "\r\nLast-Modified: Wed, 01 Jan 2020 00:00:00 GMT\r\n";
    const std::size_t total = file.bytes.size() + (fault == kOtherTotal ? 1 : 0);
    if (fault == kBadContentRange) {
      head += "Content-Range: bytes 0-\r\n";
    } else if (fault != kNoContentRange && !is_whole) {
      head += "Content-Range: bytes " + std::to_string(begin) + "-" + std::to_string(end - 1) + "/" +
              std::to_string(total) + "\r\n";
    }
    if (fault == kChunked) return send_in_chunks(head, body);
    if (fault == kUntilClose) {
      send(head + "Connection: close\r\n\r\n");
      send(body);
      return false;
    }
    constexpr std::size_t kMore = 5000;
    head += "Content-Length: " + std::to_string(body.size() + (fault == kOverlong ? kMore : 0)) + "\r\n\r\n";
    if (fault == kResetInHead) {
      send(std::string_view(head).substr(0, below(head.size())));
      return reset();
    }
    if (!send(head)) return false;
    if (fault == kResetInBody || fault == kShortBody) {
      send(body.substr(0, below(body.size())));
      return fault == kResetInBody && reset();
    }
    if (fault == kPause) {
      const std::size_t half = below(body.size());
      send(body.substr(0, half));
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      return send(body.substr(half));
    }
    return send(body) && (fault != kOverlong || send(std::string(kMore, 'x')));
  }

  bool send_in_chunks(const std::string& head, std::string_view body) {
    send(head + "Transfer-Encoding: chunked\r\n\r\n");
    while (!body.empty()) {
      const std::string_view piece = body.substr(0, 1 + below(100'000));
      std::array<char, 24> size{};
      std::snprintf(size.data(), size.size(), "%zx\r\n", piece.size());
      if (!send(size.data()) || !send(piece) || !send("\r\n")) return false;
      body.remove_prefix(piece.size());
    }
    return send("0\r\n\r\n");
  }

  const int socket_;
  std::mt19937_64 random_;
  std::string in_;
};

void print_counts() {
  std::uint64_t all = 0;
  for (const auto& count : counts) all += count;
  std::printf("%lu requests\n", static_cast<unsigned long>(all));
  for (std::size_t i = 1; i < kFaults; ++i) std::printf("%s: %lu\n", kNames[i], static_cast<unsigned long>(counts[i]));
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return 2;
  load(arguments[1]);
  faults_per_million = static_cast<std::uint32_t>(std::strtoul(arguments[2], nullptr, 10));
  std::uint64_t seed = count > 3 ? std::strtoul(arguments[3], nullptr, 10) : 1;
  sigset_t ending;
  ::sigemptyset(&ending);
  ::sigaddset(&ending, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &ending, nullptr);
  const int listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (::bind(listening, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listening, 1024) != 0) return 1;
  ::getsockname(listening, reinterpret_cast<sockaddr*>(&address), &size);
  std::printf("%u\n", ::ntohs(address.sin_port));
  std::fflush(stdout);
  std::thread([listening, seed]() mutable {
    for (;;) {
      const int socket = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) continue;
      const int yes = 1;
      ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
      std::thread([socket, own = ++seed] { Connection(socket, own).serve(); }).detach();
    }
  }).detach();
  int signal = 0;
  ::sigwait(&ending, &signal);
  print_counts();
  std::fflush(stdout);
  ::_exit(0);
}
