#include "fusefs/mount_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace recordfs {
namespace {

// Options of mount(8) and fstab(5) that have no effect here.
constexpr std::array<std::string_view, 45> kAccepted = {"ro",
                                                        "rw",
                                                        "defaults",
                                                        "auto",
                                                        "noauto",
                                                        "user",
                                                        "nouser",
                                                        "users",
                                                        "owner",
                                                        "group",
                                                        "suid",
                                                        "nosuid",
                                                        "dev",
                                                        "nodev",
                                                        "exec",
                                                        "noexec",
                                                        "sync",
                                                        "async",
                                                        "atime",
                                                        "noatime",
                                                        "relatime",
                                                        "norelatime",
                                                        "dirsync",
                                                        "diratime",
                                                        "nodiratime",
                                                        "mand",
                                                        "nomand",
                                                        "strictatime",
                                                        "lazytime",
                                                        "nofail",
                                                        "nolazytime",
                                                        "nosymfollow",
                                                        "symfollow",
                                                        "iversion",
                                                        "noiversion",
                                                        "silent",
                                                        "loud",
                                                        "_netdev",
                                                        "_rnetdev",
                                                        "comment",
                                                        "nostrictatime",
                                                        "uhelper",
                                                        "helper",
                                                        "subtype",
                                                        "default_permissions"};

constexpr unsigned kNobody = 0xFFFFFFFFu;  // means "unchanged" to chown(2)
constexpr mode_t kPermissionBits = 0777;
constexpr unsigned kMostThreads = 1024;
constexpr std::size_t kLongestSuffix = 32;
constexpr std::size_t kMostListedKeys = 1u << 30;
constexpr unsigned kLongestTimeout = 100u * 365 * 24 * 3600;

bool is_accepted(std::string_view name) {
  return std::ranges::find(kAccepted, name) != kAccepted.end() || name.starts_with("x-") || name.starts_with("X-");
}

template <class Number>
bool parse_number(const std::string& text, Number& number, int base = 10) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size();
}

template <class Number>
bool parse_optional(const std::string& text, std::optional<Number>& number, int base = 10) {
  Number value{};
  if (!parse_number(text, value, base)) return false;
  number = value;
  return true;
}

// --- options without a value

struct Flag {
  std::string_view name;
  void (*set)(Options& options);
};

constexpr std::array kFlags = {
    Flag{"allow_other", [](Options& options) { options.allow_other = true; }},
    Flag{"allow_root",
         [](Options& options) {
           options.allow_root = true;
           options.passed_on.emplace_back("allow_root");
         }},
    Flag{"auto_unmount",
         [](Options& options) {
           options.auto_unmount = true;
           options.passed_on.emplace_back("auto_unmount");
         }},
    Flag{"debug", [](Options& options) { options.debug = options.foreground = true; }},
    Flag{"follow", [](Options& options) { options.follow = true; }},
    Flag{"nest", [](Options& options) { options.nest = true; }},
    Flag{"nonempty", [](Options& options) { options.nonempty = true; }},
    Flag{"redact", [](Options& options) { options.redact = true; }},
    Flag{"xattr", [](Options& options) { options.xattr = true; }},
};

// --- options with a value

bool set_cache_size(const std::string& value, Options& options) {
  const auto size = parse_size(value);
  if (size) options.cache_size = *size;
  return size.has_value();
}

bool set_max_chunk(const std::string& value, Options& options) {
  const auto size = parse_size(value);
  if (size) options.limits = limits_for_chunks_of(*size);
  return size.has_value() && *size > 0;
}

// Names without the suffix are numbers, so a leading digit would change the number.
bool set_record_suffix(const std::string& value, Options& options) {
  options.record_suffix = value;
  const bool is_name = !value.empty() && value.size() <= kLongestSuffix && value.find('/') == std::string::npos;
  return is_name && (value.front() < '0' || value.front() > '9');
}

struct Valued {
  std::string_view name;
  bool (*set)(const std::string& value, Options& options);  // false: invalid value
};

constexpr std::array kValued = {
    Valued{"cache_size", set_cache_size},
    Valued{"context",
           [](const std::string& value, Options& options) {
             options.passed_on.push_back("context=" + value);
             return true;
           }},
    Valued{"descriptors",
           [](const std::string& value, Options& options) {
             options.descriptors = value;
             return !value.empty();
           }},
    Valued{"fsname",
           [](const std::string& value, Options& options) {
             if (!value.empty()) options.fsname = value;
             return true;
           }},
    Valued{"gid", [](const std::string& value,
                     Options& options) { return parse_optional(value, options.gid) && options.gid != kNobody; }},
    Valued{"index",
           [](const std::string& value, Options& options) {
             options.index = value;
             return !value.empty();
           }},
    Valued{"listed_keys",
           [](const std::string& value, Options& options) {
             return parse_optional(value, options.listed_keys) && *options.listed_keys <= kMostListedKeys;
           }},
    Valued{"log",
           [](const std::string& value, Options& options) {
             options.log_file = value;
             return !value.empty();
           }},
    Valued{"max_chunk", set_max_chunk},
    Valued{"max_read",
           [](const std::string& value, Options& options) { return parse_optional(value, options.max_read); }},
    Valued{"record_suffix", set_record_suffix},
    Valued{"sandbox",
           [](const std::string& value, Options& options) {
             options.sandbox = value == "yes";
             return value == "yes" || value == "no";
           }},
    Valued{"threads",
           [](const std::string& value, Options& options) {
             return parse_number(value, options.threads) && options.threads > 0 && options.threads <= kMostThreads;
           }},
    Valued{"timeout",
           [](const std::string& value, Options& options) {
             return parse_number(value, options.timeout) && options.timeout <= kLongestTimeout;
           }},
    Valued{"type",
           [](const std::string& value, Options& options) {
             options.type = value;
             return !value.empty();
           }},
    Valued{"uid", [](const std::string& value,
                     Options& options) { return parse_optional(value, options.uid) && options.uid != kNobody; }},
    Valued{"umask",
           [](const std::string& value, Options& options) {
             return parse_optional(value, options.umask, 8) && *options.umask <= kPermissionBits;
           }},
};

// --- the list

// Splits at commas that are not escaped, and removes the backslashes.
std::vector<std::string> split_list(const std::string& list) {
  std::vector<std::string> items(1);
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i] == '\\' && i + 1 < list.size()) {
      items.back() += list[++i];
    } else if (list[i] == ',') {
      items.emplace_back();
    } else {
      items.back() += list[i];
    }
  }
  std::erase(items, std::string());
  return items;
}

// Returns the error in one option, or nothing.
std::optional<std::string> apply_item(const std::string& item, Options& options) {
  const std::size_t equals = item.find('=');
  const std::string name = item.substr(0, equals);
  if (equals == std::string::npos) {
    if (const auto flag = std::ranges::find(kFlags, name, &Flag::name); flag != kFlags.end()) {
      flag->set(options);
      return std::nullopt;
    }
  } else if (const auto valued = std::ranges::find(kValued, name, &Valued::name); valued != kValued.end()) {
    if (valued->set(item.substr(equals + 1), options)) return std::nullopt;
    return fmt::format("invalid value for -o {}", item);
  }
  if (is_accepted(name) || options.sloppy) return std::nullopt;
  return fmt::format("unknown option -o {}", name);
}

}  // namespace

std::optional<std::string> apply_mount_options(const std::string& list, Options& options) {
  for (const std::string& item : split_list(list)) {
    if (auto wrong = apply_item(item, options)) return wrong;
  }
  return std::nullopt;
}

}  // namespace recordfs
