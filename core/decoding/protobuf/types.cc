#include "core/decoding/protobuf/types.h"

#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <future>
#include <new>
#include <utility>
#include <vector>

#if GOOGLE_PROTOBUF_VERSION >= 4022000
#include <absl/log/globals.h>
#else
#include <google/protobuf/stubs/logging.h>
#endif

#include "core/base/cursor.h"
#include "core/base/protobuf.h"
#include "core/base/thrown.h"

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

using protobuf::Field;
using protobuf::WireType;

constexpr std::uint64_t kShortestField = 2;   // bytes
constexpr std::uint64_t kPerField = 64;       // a string object, an unknown field, or an element of a grown list
constexpr std::uint64_t kPerByte = 2;         // per byte of content: a buffer may have twice the capacity
constexpr std::uint64_t kPerPackedByte = 16;  // a one-byte varint becomes an eight-byte number in a grown list
constexpr std::uint64_t kPerMessage = 32;     // in addition to the size of its type
constexpr std::size_t kDepth = 100;           // the nesting limit of libprotobuf

// Adds up the cost of fields. Uses an explicit list instead of recursion for nested messages.
class Count {
 public:
  Count(const MessageType& type, const Cost& limit) : type_(type), limit_(limit) {}

  Cost of(Bytes message) {
    enter(type_.descriptor, message);
    while (!open_.empty() && sum_.is_within(limit_)) {
      if (open_.back().rest.at_end()) {
        open_.pop_back();
      } else if (!take_field()) {
        break;  // libprotobuf stops parsing here too
      }
    }
    return sum_;
  }

 private:
  struct Open {
    const pb::Descriptor* type;  // null if the type is unknown
    Cursor rest;
    bool is_group = false;
  };

  void enter(const pb::Descriptor* type, Bytes content) {
    add_message(type);
    open_.push_back({type, Cursor(content)});
  }

  void add_message(const pb::Descriptor* type) {
    const auto size = type_.sizes.find(type);
    sum_.memory += kPerMessage + (size == type_.sizes.end() ? type_.largest : size->second);
    if (type != nullptr) sum_.fields += static_cast<std::uint64_t>(type->field_count());
  }

  static const pb::FieldDescriptor* known(const pb::Descriptor* type, std::uint32_t number) {
    if (type == nullptr) return nullptr;
    const auto number_of_field = static_cast<int>(number);
    if (const auto* field = type->FindFieldByNumber(number_of_field)) return field;
    return type->file()->pool()->FindExtensionByNumber(type, number_of_field);
  }

  bool take_field() {
    Open& open = open_.back();
    const Field field = protobuf::read_field(open.rest);
    const Bytes content = open.rest.take(field.size);
    if (!open.rest.ok()) return false;
    sum_.memory += kPerField;
    const auto* const known_field = known(open.type, field.number);
    const bool is_message = known_field != nullptr && known_field->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE;
    const pb::Descriptor* const inner = is_message ? known_field->message_type() : nullptr;
    if (field.type == WireType::kGroupStart) return begin_group(inner);
    if (field.type == WireType::kGroupEnd) return end_group();
    if (field.type != WireType::kLengthDelimited) return true;
    if (inner != nullptr) {
      if (open_.size() >= kDepth) return false;
      enter(inner, content);
    } else {
      const bool may_be_packed = known_field != nullptr && known_field->is_packable();
      sum_.memory += content.size() * (may_be_packed ? kPerPackedByte : kPerByte);
    }
    return true;
  }

  // The content of a group continues in the bytes of the enclosing message.
  bool begin_group(const pb::Descriptor* type) {
    if (open_.size() >= kDepth) return false;
    const Cursor rest = open_.back().rest;
    add_message(type);
    open_.push_back({type, rest, true});
    return true;
  }

  bool end_group() {
    if (!open_.back().is_group) return false;
    const Cursor rest = open_.back().rest;
    open_.pop_back();
    open_.back().rest = rest;
    return true;
  }

  const MessageType& type_;
  const Cost limit_;
  Cost sum_;
  std::vector<Open> open_;
};

// A prototype links the prototypes of all contained types recursively: about 500 bytes of stack for each.
constexpr std::size_t kMostTypesInOne = 4096;
constexpr std::size_t kManyTypes = 256;
// Each field of a message is checked for presence.
constexpr int kMostFieldsInOne = 8192;
// The cost of finding a type in addition to its fields: its map entry and its prototype.
constexpr std::uint64_t kWorkPerType = 16;
// The cache of found types is cleared beyond this cost. Each entry holds all types reachable from it.
constexpr std::uint64_t kMostWorkKept = 16u << 20;
// Below this estimate in bytes, the fields of a message are not counted.
constexpr std::uint64_t kEasyMemory = 32u << 20;
// A reused message object keeps its memory. It is discarded beyond these totals.
constexpr std::uint64_t kKeptMemory = 1u << 20;
constexpr std::uint64_t kMostUsed = 64u << 20;

constexpr std::size_t kLongestReason = 300;
constexpr std::size_t kStack = 64u << 20;  // bytes; unused pages take no memory

// Adds a generated file of libprotobuf. protoc omits these from a set without --include_imports.
void build_known_file(pb::DescriptorPool& pool, const pb::FileDescriptor& file) {
  if (pool.FindFileByName(std::string(view(file.name()))) != nullptr) return;
  for (int i = 0; i < file.dependency_count(); ++i) build_known_file(pool, *file.dependency(i));
  pb::FileDescriptorProto copy;
  file.CopyTo(&copy);
  build_file(pool, copy);
}

// Returns "" if the message may be parsed, otherwise the reason. Counts its fields only if the estimate is too high.
std::string too_costly(const MessageType& type, Bytes message) {
  if (most_memory(type, message) <= kEasyMemory && most_fields(type, message) <= Types::kMost.fields) return {};
  const Cost cost = counted_cost(type, message, Types::kMost);
  if (cost.memory > Types::kMost.memory) return "decoding would take too much memory";
  return cost.fields > Types::kMost.fields ? "decoding would take too long" : "";
}

void* run(void* task) {
  (*static_cast<std::packaged_task<void()>*>(task))();
  return nullptr;
}

// Calls `work` in a new thread with a large stack and waits for it. Rethrows the exceptions of `work`. Throws
// std::bad_alloc if it cannot create the thread.
void call_deep(const std::function<void()>& work) {
  std::packaged_task<void()> task(work);
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) throw std::bad_alloc();
  pthread_t thread{};
  const bool is_started =
      ::pthread_attr_setstacksize(&attributes, kStack) == 0 && ::pthread_create(&thread, &attributes, run, &task) == 0;
  ::pthread_attr_destroy(&attributes);
  if (!is_started) throw std::bad_alloc();
  ::pthread_join(thread, nullptr);
  task.get_future().get();
}

// Stops libprotobuf from writing to stderr: errors in a user's file do not belong on the terminal.
void silence_libprotobuf() {
#if GOOGLE_PROTOBUF_VERSION >= 4022000
  absl::SetMinLogLevel(absl::LogSeverityAtLeast::kInfinity);
  absl::SetStderrThreshold(absl::LogSeverityAtLeast::kInfinity);
#else
  pb::SetLogHandler(nullptr);
#endif
}

// Returns the version, for example "3.21.12".
const std::string& libprotobuf_version() {
  static const std::string version = [] {
    constexpr int kVersion = GOOGLE_PROTOBUF_VERSION;
    return std::to_string(kVersion / 1000000) + "." + std::to_string(kVersion / 1000 % 1000) + "." +
           std::to_string(kVersion % 1000);
  }();
  return version;
}

MessageTypes* make_types(const Bytes* files, std::size_t count) noexcept {
  MessageTypes* types = nullptr;
  error_thrown_by([&] { types = std::make_unique<Types>(files, count).release(); });
  return types;
}

}  // namespace

std::string build_file(pb::DescriptorPool& pool, const pb::FileDescriptorProto& file) {
  FirstError error;
  if (pool.BuildFileCollectingErrors(file, &error) != nullptr) return {};
  std::string why = error.take();
  return why.empty() ? "the descriptors cannot be used" : why;
}

struct Types::Workplace {
  std::unique_ptr<pb::Message> message;
  FieldLists lists;
  std::uint64_t used = 0;  // upper bound in bytes of everything parsed into it
};

Types::Types(const Bytes* files, std::size_t count) {
  pb::FileDescriptorProto file;
  for (std::size_t i = 0; i < count; ++i) {
    if (files[i].size() > INT32_MAX) continue;
    if (file.ParsePartialFromArray(files[i].data(), static_cast<int>(files[i].size()))) build(file);
  }
}

Types::~Types() = default;

void Types::build(pb::FileDescriptorProto& file) {
  const auto* const known = pb::DescriptorPool::generated_pool();
  for (const std::string& import : file.dependency()) {
    const auto* const known_file = known->FindFileByName(import);
    if (known_file != nullptr) build_known_file(pool_, *known_file);
  }
  std::string why = build_file(pool_, file);
  if (why.empty()) return;
  if (why.size() > kLongestReason) why.resize(kLongestReason);
  note_failure(file, why);
}

void Types::note_failure(const pb::FileDescriptorProto& file, const std::string& why) {
  const auto reason = std::make_shared<const std::string>(why);
  struct Found {
    const pb::DescriptorProto* type;
    std::string scope;
  };
  std::vector<Found> rest;
  const auto add = [&rest](const auto& types, const std::string& scope) {
    for (const auto& type : types) rest.push_back({&type, scope});
  };
  add(file.message_type(), file.package().empty() ? "" : file.package() + ".");
  while (!rest.empty()) {
    const Found found = std::move(rest.back());
    rest.pop_back();
    const std::string name = found.scope + found.type->name();
    add(found.type->nested_type(), name + ".");
    failures_.emplace(name, reason);
  }
}

bool Types::write(std::string_view type, Bytes message, JsonWriter& writer, std::string& why) const noexcept {
  bool is_written = false;
  const int thrown = error_thrown_by([&] { is_written = write_message(type, message, writer, why); });
  if (thrown != 0) why.assign(thrown == ENOMEM ? kNoMemory : "protobuf failed");  // 15 characters take no memory
  return is_written;
}

FoundType Types::find(std::string_view name) const {
  const std::scoped_lock lock(mutex_);
  auto found = found_.find(name);
  if (found == found_.end()) {
    const std::string full_name(name);
    const pb::Descriptor* const descriptor = pool_.FindMessageTypeByName(full_name);
    if (descriptor == nullptr) {
      const auto failure = failures_.find(name);
      return {nullptr, failure == failures_.end() ? std::string(kNoDescriptor) : *failure->second};
    }
    if (work_of_found_ > kMostWorkKept) {
      found_.clear();
      work_of_found_ = 0;
    }
    found = found_.emplace(full_name, make(descriptor)).first;
    work_of_found_ += found->second.work;
  }
  return found->second;
}

// REQUIRES: mutex_ is held.
FoundType Types::make(const pb::Descriptor* descriptor) const {
  FoundType made;
  auto type = std::make_shared<MessageType>();
  type->descriptor = descriptor;
  made.why = find_inner_types(*type, made.work);
  if (!made.why.empty()) return made;
  if (type->sizes.size() > kManyTypes) {
    call_deep([&] { make_prototypes(*type); });
  } else {
    make_prototypes(*type);
  }
  made.type = std::move(type);
  return made;
}

// Returns "" on success, otherwise the reason.
std::string Types::find_inner_types(MessageType& type, std::uint64_t& work) const {
  std::vector<const pb::Descriptor*> rest;
  const auto add_type = [&](const pb::Descriptor* found) {
    if (found != nullptr && type.sizes.emplace(found, 0).second) rest.push_back(found);
  };
  const auto add = [&](const pb::FieldDescriptor* field) { add_type(field->message_type()); };
  add_type(type.descriptor);
  while (!rest.empty()) {
    const pb::Descriptor* const next = rest.back();
    rest.pop_back();
    if (next->field_count() > kMostFieldsInOne) return "too many fields in one message type";
    for (int i = 0; i < next->field_count(); ++i) add(next->field(i));
    std::vector<const pb::FieldDescriptor*> extensions;
    if (next->extension_range_count() > 0) pool_.FindAllExtensions(next, &extensions);
    std::ranges::for_each(extensions, add);
    work += kWorkPerType + static_cast<std::uint64_t>(next->field_count()) + extensions.size();
    if (type.sizes.size() > kMostTypesInOne) return "too many message types in this one";
  }
  return {};
}

void Types::make_prototypes(MessageType& type) const {
  for (auto& [inner, size] : type.sizes) {
    size = factory_.GetPrototype(inner)->SpaceUsedLong();
    type.largest = std::max(type.largest, size);
    type.most_fields = std::max(type.most_fields, static_cast<std::uint64_t>(inner->field_count()));
  }
  type.prototype = factory_.GetPrototype(type.descriptor);
}

bool Types::write_message(std::string_view name, Bytes message, JsonWriter& writer, std::string& why) const {
  FoundType found = find(name);
  if (found.type == nullptr) {
    why = std::move(found.why);
    return false;
  }
  why = too_costly(*found.type, message);
  if (!why.empty()) return false;
  auto place = take_workplace(*found.type);
  bool is_written = place->message->ParsePartialFromArray(message.data(), static_cast<int>(message.size()));
  if (is_written) {
    Printer printer(*this, writer, place->lists);
    is_written = printer.write(*place->message);
    if (!is_written) why = printer.take_why();
  } else {
    why = "not a valid message of this type";
  }
  give_back(std::move(place), *found.type, message);
  return is_written;
}

std::unique_ptr<Types::Workplace> Types::take_workplace(const MessageType& type) const {
  {
    const std::scoped_lock lock(mutex_);
    auto& places = places_[type.descriptor];
    if (!places.empty()) {
      auto place = std::move(places.back());
      places.pop_back();
      return place;
    }
  }
  auto place = std::make_unique<Workplace>();
  place->message.reset(type.prototype->New());
  return place;
}

void Types::give_back(std::unique_ptr<Workplace> place, const MessageType& type, Bytes message) const {
  const std::uint64_t memory = most_memory(type, message);
  place->used += memory;
  if (memory > kKeptMemory || place->used > kMostUsed) return;
  const std::scoped_lock lock(mutex_);
  places_[type.descriptor].push_back(std::move(place));
}

std::uint64_t most_memory(const MessageType& type, Bytes message) {
  const std::uint64_t per_message = type.largest + kPerMessage + kPerField;
  return type.largest + message.size() * std::max(per_message / kShortestField, kPerPackedByte);
}

std::uint64_t most_fields(const MessageType& type, Bytes message) {
  return (message.size() / kShortestField + 1) * type.most_fields;
}

Cost counted_cost(const MessageType& type, Bytes message, const Cost& limit) { return Count(type, limit).of(message); }

}  // namespace recordfs::messages

// The only exported function of the module.
extern "C" __attribute__((visibility("default"))) const recordfs::ProtobufModule* recordfs_protobuf_module() {
  using namespace recordfs;
  static const ProtobufModule module = [] {
    messages::silence_libprotobuf();
    return ProtobufModule{.build = RECORDFS_MODULE_BUILD,
                          .libprotobuf_version = messages::libprotobuf_version().c_str(),
                          .make_types = messages::make_types};
  }();
  return &module;
}
