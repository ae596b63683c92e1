// Flat JSON of servers: an object, or an array of objects.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace recordfs::fetch {

// The members of an object that are strings, numbers or booleans, in order. Numbers are decimal.
class JsonObject {
 public:
  void add(std::string name, std::string value) { members_.emplace_back(std::move(name), std::move(value)); }

  // Returns the value of a member; empty: there is none.
  std::string_view operator[](std::string_view name) const;
  bool has(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::string>> members_;
};

// Passes each object of an array to `take`, or the one object that the text is, without what is nested in it. Returns
// the first error of `take`. Fails with kDamage if the text is no JSON, neither an object nor an array of objects, or
// nested too deep.
Result<void> for_each_object(std::string_view json, const std::function<Result<void>(const JsonObject&)>& take);

}  // namespace recordfs::fetch
