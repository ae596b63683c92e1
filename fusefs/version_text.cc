#include "fusefs/version_text.h"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/codec/codec.h"
#include "core/decoding/json_writer.h"
#include "core/decoding/protobuf_module.h"
#include "core/formats/registry.h"
#include "core/remote/fetcher_program.h"
#include "fusefs/glue/version.h"

namespace recordfs {
namespace {

#ifdef RECORDFS_STATIC
constexpr bool kIsStatic = true;
#else
constexpr bool kIsStatic = false;
#endif

// All libraries that recordfs supports. A version is empty if this build lacks the library.
std::vector<CodecVersion> library_versions() {
  std::vector<CodecVersion> libraries{{"libfuse", fuse_version()}};
  for (CodecVersion& codec : codec_versions()) libraries.push_back(std::move(codec));
  libraries.push_back({"libprotobuf", protobuf_version()});
  return libraries;
}

// A text, or null if it is empty.
void add(JsonWriter& json, std::string_view name, std::string_view text) {
  if (!text.empty()) return json.member(name, text);
  json.member(name, std::optional<std::uint64_t>());
}

}  // namespace

std::string version_text() {
  std::string text = "recordfs " RECORDFS_VERSION "\n";
  const std::string protocol = protocol_version();
  for (const CodecVersion& library : library_versions()) {
    text += fmt::format("{} {}\n", library.name, library.version.empty() ? "not available" : library.version);
    if (library.name == "libfuse" && !protocol.empty()) text += fmt::format("FUSE protocol {}\n", protocol);
  }
  return text;
}

std::string version_json() {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.member("version", std::string_view(RECORDFS_VERSION));
  json.name("formats");
  json.begin_list();
  for (const Format& format : formats()) json.string(format.name);
  json.end_list();
  json.name("libraries");
  json.begin_object();
  for (const CodecVersion& library : library_versions()) add(json, library.name, library.version);
  json.end_object();
  add(json, "fuse_protocol", protocol_version());
  json.name("features");
  json.begin_object();
  json.member("urls", remote::has_fetcher());
  json.member("messages", !protobuf_version().empty());
  json.end_object();
  json.member("linked", std::string_view(kIsStatic ? "static" : "shared"));
  json.member("processor", std::string_view(RECORDFS_PROCESSOR));
  json.member("compiler", std::string_view(RECORDFS_COMPILER));
  json.end_object();
  return text + '\n';
}

}  // namespace recordfs
