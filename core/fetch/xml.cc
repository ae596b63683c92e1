#include "core/fetch/xml.h"

#include <expat.h>

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace recordfs::fetch {
namespace {

constexpr std::size_t kDeepest = 16;
constexpr std::size_t kMostText = 64u << 10;
constexpr std::size_t kMostXml = 64u << 20;

struct FreeParser {
  void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
};

class XmlReader {
 public:
  using Take = std::function<Result<void>(const std::string& path, const std::string& text)>;

  explicit XmlReader(const Take& take) : take_(take) {}

  Result<void> read(std::string_view xml) {
    if (parser_ == nullptr) return out_of_memory("XML parser");
    XML_SetUserData(parser_.get(), this);
    XML_SetElementHandler(parser_.get(), start, end);
    XML_SetCharacterDataHandler(parser_.get(), append);
    XML_SetStartDoctypeDeclHandler(parser_.get(), refuse);
    if (xml.size() > kMostXml) return malformed();
    const auto status = XML_Parse(parser_.get(), xml.data(), static_cast<int>(xml.size()), XML_TRUE);
    if (error_) return *error_;
    if (status != XML_STATUS_OK) return malformed();
    return {};
  }

 private:
  static Error malformed() { return {.code = Code::kDamage, .detail = "malformed XML"}; }

  static XmlReader& self(void* data) { return *static_cast<XmlReader*>(data); }

  void stop(Error error) {
    if (!error_) error_ = std::move(error);
    XML_StopParser(parser_.get(), XML_FALSE);
  }

  static void XMLCALL start(void* data, const XML_Char* name, const XML_Char**) {
    XmlReader& reader = self(data);
    if (reader.texts_.size() == kDeepest) return reader.stop(malformed());
    reader.ends_.push_back(reader.path_.size());
    if (!reader.path_.empty()) reader.path_ += '/';
    reader.path_ += name;
    reader.texts_.emplace_back();
  }

  static void XMLCALL end(void* data, const XML_Char*) {
    XmlReader& reader = self(data);
    if (reader.error_ || reader.texts_.empty()) return;
    auto taken = reader.take_(reader.path_, reader.texts_.back());
    if (!taken) return reader.stop(std::move(taken).error());
    reader.path_.resize(reader.ends_.back());
    reader.ends_.pop_back();
    reader.texts_.pop_back();
  }

  static void XMLCALL append(void* data, const XML_Char* text, int length) {
    XmlReader& reader = self(data);
    if (reader.error_ || reader.texts_.empty()) return;
    std::string& all = reader.texts_.back();
    const auto size = static_cast<std::size_t>(length);
    if (size > kMostText - all.size()) return reader.stop(malformed());
    all.append(text, size);
  }

  static void XMLCALL refuse(void* data, const XML_Char*, const XML_Char*, const XML_Char*, int) {
    self(data).stop(malformed());
  }

  const std::unique_ptr<std::remove_pointer_t<XML_Parser>, FreeParser> parser_{XML_ParserCreate(nullptr)};
  const Take& take_;
  std::string path_;                // of the current element
  std::vector<std::size_t> ends_;   // of the path before each element that has begun
  std::vector<std::string> texts_;  // of each element that has begun
  std::optional<Error> error_;
};

}  // namespace

Result<void> for_each_element(std::string_view xml, const XmlReader::Take& take) { return XmlReader(take).read(xml); }

}  // namespace recordfs::fetch
