// Measures libprotobuf alone: parses the messages of a file and writes them as JSON in memory, on several threads:
//
//   bench_messages FILE DESCRIPTORS TYPE THREADS library|module
//
// FILE is the output of `recordfs cat --delimited`. `library` uses libprotobuf's dynamic messages and its JSON printer,
// `module` uses the functions of librecordfs-protobuf.so that recordfs calls. Prints the seconds.
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/util/json_util.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/base/cursor.h"
#include "core/decoding/json_writer.h"
#include "core/decoding/protobuf_module.h"

namespace recordfs {
namespace {

namespace pb = google::protobuf;

constexpr std::size_t kBatch = 1000;  // messages that a thread takes at a time

// Appends a message as JSON to a text. One thread.
using Write = std::function<bool(Bytes message, std::string& text)>;
using MakeWrite = std::function<Write()>;

[[noreturn]] void fail(const char* why) {
  std::fprintf(stderr, "bench_messages: %s\n", why);
  std::exit(1);
}

std::string content_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("a file cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<Bytes> split(const std::string& delimited) {
  std::vector<Bytes> messages;
  Cursor cursor(as_bytes(delimited));
  while (!cursor.at_end() && cursor.ok()) messages.push_back(cursor.take(cursor.varint64()));
  if (!cursor.ok()) fail("the file is not delimited");
  return messages;
}

struct Library {
  pb::DescriptorPool pool;
  pb::DynamicMessageFactory factory{&pool};
  const pb::Message* prototype = nullptr;

  Library(const std::string& descriptors, const std::string& type) {
    pb::FileDescriptorSet set;
    if (!set.ParseFromString(descriptors)) fail("no descriptors");
    for (const auto& file : set.file()) pool.BuildFile(file);
    const auto* const descriptor = pool.FindMessageTypeByName(type);
    if (descriptor == nullptr) fail("no such type");
    prototype = factory.GetPrototype(descriptor);
  }

  Write writer() const {
    const std::shared_ptr<pb::Message> message(prototype->New());
    return [message](Bytes bytes, std::string& text) {
      pb::util::JsonPrintOptions options;
      options.preserve_proto_field_names = true;
      std::string json;
      const bool is_good = message->ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size())) &&
                           pb::util::MessageToJsonString(*message, &json, options).ok();
      text += json;
      return is_good;
    };
  }
};

Write module_writer(const std::shared_ptr<const MessageTypes>& types, const std::string& type) {
  return [types, type](Bytes bytes, std::string& text) {
    JsonWriter writer(text, JsonLayout::kLine, 1u << 30);
    std::string why;
    return types->write(type, bytes, writer, why);
  };
}

double seconds_for(const std::vector<Bytes>& messages, unsigned threads, const MakeWrite& make_write) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    const Write write = make_write();
    std::string text;
    for (;;) {
      const std::size_t begin = next.fetch_add(kBatch);
      if (begin >= messages.size()) return;
      text.clear();
      for (std::size_t i = begin; i < std::min(begin + kBatch, messages.size()); ++i) {
        if (!write(messages[i], text)) fail("a message cannot be written");
      }
    }
  };
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::jthread> workers;
  for (unsigned i = 0; i < threads; ++i) workers.emplace_back(work);
  workers.clear();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int run(const std::vector<std::string>& words) {
  if (words.size() != 6) fail("FILE DESCRIPTORS TYPE THREADS library|module");
  const std::string delimited = content_of(words[1].c_str());
  const std::string descriptors = content_of(words[2].c_str());
  const auto messages = split(delimited);
  const auto threads = static_cast<unsigned>(std::stoul(words[4]));
  MakeWrite make_write;
  if (words[5] == "library") {
    const auto library = std::make_shared<const Library>(descriptors, words[3]);
    make_write = [library] { return library->writer(); };
  } else {
    const auto types = shared_types(std::make_shared<const std::string>(descriptors));
    if (!types) fail(types.error().detail.c_str());
    make_write = [types = *types, &words] { return module_writer(types, words[3]); };
  }
  std::printf("%.6f\n", seconds_for(messages, threads, make_write));
  return 0;
}

}  // namespace
}  // namespace recordfs

int main(int argc, char** argv) { return recordfs::run(std::vector<std::string>(argv, argv + argc)); }
