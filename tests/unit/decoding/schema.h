// Parses protobuf types from .proto text, and messages from protobuf's text format.
#pragma once

#include <google/protobuf/compiler/parser.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace recordfs::testing {

namespace pb = google::protobuf;

// Parses one file, without its imports.
inline pb::FileDescriptorProto file_of(const std::string& name, const std::string& text) {
  pb::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
  pb::io::Tokenizer tokenizer(&stream, nullptr);
  pb::FileDescriptorProto file;
  if (!pb::compiler::Parser().Parse(&tokenizer, &file)) throw std::runtime_error("no .proto text");
  file.set_name(name);
  return file;
}

inline std::shared_ptr<const std::string> serialized(const pb::FileDescriptorSet& set) {
  return std::make_shared<const std::string>(set.SerializePartialAsString());
}

// The types of one file, which may import files of google/protobuf/.
class Schema {
 public:
  explicit Schema(const std::string& text) : pool_(pb::DescriptorPool::generated_pool()) {
    *set_.add_file() = file_of("schema.proto", text);
    if (pool_.BuildFile(set_.file(0)) == nullptr) throw std::runtime_error("the file cannot be built");
  }

  std::shared_ptr<const std::string> descriptors() const { return serialized(set_); }
  // Returns the same with the kind and the full name of each field's type, as protoc writes them.
  std::shared_ptr<const std::string> resolved_descriptors() const {
    pb::FileDescriptorSet resolved;
    pool_.FindFileByName(set_.file(0).name())->CopyTo(resolved.add_file());
    return serialized(resolved);
  }

  // Returns the encoded message.
  std::string message(const std::string& type, const std::string& text) {
    const std::unique_ptr<pb::Message> message(factory_.GetPrototype(pool_.FindMessageTypeByName(type))->New());
    pb::TextFormat::Parser parser;
    parser.AllowPartialMessage(true);
    if (!parser.ParseFromString(text, message.get())) throw std::runtime_error("no text of a message: " + text);
    return message->SerializePartialAsString();
  }

 private:
  pb::FileDescriptorSet set_;
  pb::DescriptorPool pool_;
  pb::DynamicMessageFactory factory_{&pool_};
};

}  // namespace recordfs::testing
