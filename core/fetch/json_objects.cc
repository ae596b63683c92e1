#include "core/fetch/json_objects.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

namespace recordfs::fetch {
namespace {

using Json = nlohmann::json;

constexpr int kDeepest = 64;

// Receives the parts of a text, and keeps one object at a time. Each function returns whether to go on.
class Receiver final : public nlohmann::json_sax<Json> {
 public:
  explicit Receiver(const std::function<Result<void>(const JsonObject&)>& take) : take_(take) {}

  bool null() override { return scalar({}); }
  bool boolean(bool value) override { return scalar(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return scalar(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return scalar(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return scalar(text); }
  bool string(string_t& value) override { return scalar(std::move(value)); }
  bool binary(binary_t&) override { return false; }

  bool start_object(std::size_t) override {
    if (depth_ == 0) depth_of_objects_ = 0;
    if (depth_ == depth_of_objects_) object_ = {};
    return enter();
  }
  bool key(string_t& name) override {
    if (is_member()) name_ = std::move(name);
    return true;
  }
  bool end_object() override {
    if (--depth_ != depth_of_objects_) return true;
    if (auto taken = take_(object_); !taken) {
      error_ = std::move(taken).error();
      return false;
    }
    return true;
  }
  bool start_array(std::size_t) override {
    if (depth_ == 1 && depth_of_objects_ == 1) return false;
    return enter();
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override { return false; }

  Error error() const { return error_.value_or(Error{.code = Code::kDamage, .detail = "malformed JSON"}); }

 private:
  bool is_member() const { return depth_ == depth_of_objects_ + 1; }
  bool enter() { return ++depth_ <= kDeepest; }
  bool scalar(std::string value) {
    if (depth_ <= depth_of_objects_) return false;
    if (is_member()) object_.add(std::move(name_), std::move(value));
    return true;
  }

  const std::function<Result<void>(const JsonObject&)>& take_;
  int depth_ = 0;
  int depth_of_objects_ = 1;  // the number of arrays and objects around one that is taken
  JsonObject object_;
  std::string name_;
  std::optional<Error> error_;
};

}  // namespace

std::string_view JsonObject::operator[](std::string_view name) const {
  for (const auto& [member, value] : members_) {
    if (member == name) return value;
  }
  return {};
}

bool JsonObject::has(std::string_view name) const {
  return std::ranges::find(members_, name, &std::pair<std::string, std::string>::first) != members_.end();
}

Result<void> for_each_object(std::string_view json, const std::function<Result<void>(const JsonObject&)>& take) {
  Receiver receiver(take);
  if (!Json::sax_parse(json, &receiver)) return receiver.error();
  return {};
}

}  // namespace recordfs::fetch
