// Key and sequence ranges whose writes may have been lost to damage, or that recordfs cannot read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/database/key_order.h"

namespace recordfs::database {

// How new the writes of a file are, compared with those of another file to the same key. Files that cannot be compared
// have the same age.
struct Age {
  std::int64_t level = 0;    // lower ones are newer; -1: a log
  std::uint64_t number = 0;  // of files of level 0: higher ones are newer

  bool is_newer_than(const Age& other) const {
    return level != other.level ? level < other.level : level == 0 && number > other.number;
  }
};

// Lost writes.
struct Loss {
  std::optional<std::uint32_t> family{};  // nullopt: of any
  std::optional<std::string> from{},
      to{};  // the users' keys from and including `from` to and including `to`; nullopt: no bound
  std::uint64_t largest_sequence = UINT64_MAX;  // no lost write has a higher one
  std::optional<Age> age{};
  Code cause = Code::kDamage;  // or kUnsupported or kLimit: the writes are intact, but recordfs cannot read them

  // Returns whether it may have cost a user's key of the family. `order` is that of the stored keys.
  bool covers(std::uint32_t other, Bytes key, const KeyOrder& order) const;
  // Returns whether a lost write may be newer than one with this sequence number, in a file of this age.
  bool may_be_newer_than(std::uint64_t sequence, const Age& other) const;
};

// Returns the cause of a loss whose error has this code.
constexpr Code cause_of(Code code) { return code == Code::kUnsupported || code == Code::kLimit ? code : Code::kDamage; }

// Whether a newer write of a key than the one that was found may be lost, and why.
struct Staleness {
  bool by_damage = false;
  std::optional<Code> unread{};  // kUnsupported or kLimit: one may be in a part that recordfs cannot read

  void add(Code cause) {
    if (cause == Code::kDamage) {
      by_damage = true;
    } else if (!unread) {
      unread = cause;
    }
  }
};

}  // namespace recordfs::database
