#include "tests/fuzz/mounted_input.h"

#include <utility>

#include "core/formats/registry.h"
#include "tests/fuzz/drive.h"
#include "tests/fuzz/expect.h"

namespace recordfs::fuzz {
namespace {

constexpr std::uint64_t kCacheBytes = 16 << 20;
constexpr std::uint64_t kTinyCacheBytes = 4096;  // too small to keep anything useful
constexpr Catalog::Bounds kTinyBounds{
    .anchors = 4, .chunks_per_anchor = 2, .cached_chunks = 8, .damage_rows = 16, .cached_sizes = 4};

std::shared_ptr<const Source> source_of(Bytes input) {
  auto bytes = Buffer::copy_of({}, input);  // exact size, so that a sanitizer detects reads past the end
  return bytes ? std::make_shared<const MemorySource>(std::move(*bytes)) : nullptr;
}

std::vector<MountSource> only(std::shared_ptr<const RecordStore> store) {
  std::vector<MountSource> all;
  all.push_back(MountedContainer{"input", std::move(store), Ownership{}});
  return all;
}

}  // namespace

std::unique_ptr<MountedInput> MountedInput::open(Bytes input, std::uint64_t options) {
  auto source = source_of(input);
  if (source == nullptr) return nullptr;
  auto container = open_container({}, source, "input", limits_for(options));
  auto again = open_container({}, source, "input", limits_for(options));
  if (container && again) {
    return std::unique_ptr<MountedInput>(
        new MountedInput(std::move(source), std::move(*container), std::move(*again), options));
  }
  expect_judgement(container ? again.error() : container.error());
  return nullptr;
}

MountedInput::MountedInput(std::shared_ptr<const Source> source, std::unique_ptr<Container> container,
                           std::unique_ptr<Container> again, std::uint64_t options)
    : container_(std::move(again)),
      services_((options & 16) != 0 ? kTinyCacheBytes : kCacheBytes, 1, [](Severity, const std::string&) {}),
      store_(std::make_shared<const RecordStore>("input", std::move(source), std::move(container), services_,
                                                 (options & 32) != 0 ? kTinyBounds : Catalog::Bounds{})),
      tree_(std::make_unique<const MountTree>(only(store_), (options & 64) != 0, MirrorSettings{},
                                              (options & 128) != 0 ? ".txt" : "")) {}

Result<std::uint64_t> MountedInput::find(std::string_view path) const {
  Result<std::uint64_t> number = MountTree::kRootNumber;
  while (number && !path.empty()) {
    const std::size_t slash = path.find('/');
    number = child(*number, path.substr(0, slash));
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
  }
  return number;
}

Result<std::string> MountedInput::content(std::uint64_t number) const {
  ASSIGN_OR_RETURN(const auto status, this->status(number));
  ASSIGN_OR_RETURN(const auto slice, read(number, 0, status.size + 1));
  expect(slice.bytes.size() == status.size, "the size of a file differs from the bytes read");
  return std::string(as_text(slice.bytes));
}

const Mutator* mutator_by_format(Bytes input) {
  const auto source = source_of(input);
  if (source == nullptr) return nullptr;
  const auto format = probe({}, *source, "input", ProbeDepth::kHead);
  return format ? mutator_for(**format) : nullptr;
}

}  // namespace recordfs::fuzz
