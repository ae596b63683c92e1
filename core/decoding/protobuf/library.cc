#include "core/decoding/protobuf/library.h"

#if GOOGLE_PROTOBUF_VERSION >= 4022000
#include <absl/log/globals.h>
#else
#include <google/protobuf/stubs/logging.h>
#endif

namespace recordfs::messages {
namespace {

// Records the first error only.
class FirstError final : public pb::DescriptorPool::ErrorCollector {
 public:
#if GOOGLE_PROTOBUF_VERSION >= 4022000
  void RecordError(absl::string_view file, absl::string_view element, const pb::Message*, ErrorLocation,
                   absl::string_view message) override {
    keep(file, element, message);
  }
#else
  void AddError(const std::string& file, const std::string& element, const pb::Message*, ErrorLocation,
                const std::string& message) override {
    keep(file, element, message);
  }
#endif

  std::string take() { return std::move(first_); }

 private:
  template <class Text>
  void keep(const Text& file, const Text& element, const Text& message) {
    if (!first_.empty()) return;
    first_ = std::string(view(file)) + ": ";
    if (view(element) != view(file)) first_ += std::string(view(element)) + ": ";
    first_ += view(message);
  }

  std::string first_;
};

}  // namespace

void silence_libprotobuf() {
#if GOOGLE_PROTOBUF_VERSION >= 4022000
  absl::SetMinLogLevel(absl::LogSeverityAtLeast::kInfinity);
  absl::SetStderrThreshold(absl::LogSeverityAtLeast::kInfinity);
#else
  pb::SetLogHandler(nullptr);
#endif
}

const std::string& libprotobuf_version() {
  static const std::string version = [] {
    constexpr int kVersion = GOOGLE_PROTOBUF_VERSION;
    return std::to_string(kVersion / 1000000) + "." + std::to_string(kVersion / 1000 % 1000) + "." +
           std::to_string(kVersion % 1000);
  }();
  return version;
}

std::string build_file(pb::DescriptorPool& pool, const pb::FileDescriptorProto& file) {
  FirstError error;
  if (pool.BuildFileCollectingErrors(file, &error) != nullptr) return {};
  std::string why = error.take();
  return why.empty() ? "the descriptors cannot be used" : why;
}

}  // namespace recordfs::messages
