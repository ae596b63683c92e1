// The credentials of AWS that a user has, found as the AWS command line finds them.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/fetch/environment.h"
#include "core/fetch/sigv4.h"

namespace recordfs::fetch {

// Where keys come from. Used by one thread.
class CredentialSource {
 public:
  virtual ~CredentialSource() = default;

  // Returns the keys of now, or nullptr if there are none. Valid until the next call. May wait for a service. Fails
  // with kUnsupported for a configuration that recordfs cannot use, and with kIo.
  virtual Result<const Credentials*> get() = 0;
  // Called when a server has refused the keys, or the lack of them. Returns whether get() has others now. Looks for
  // them once a minute.
  virtual bool renew() = 0;
};

// Keys that stay.
class FixedCredentials final : public CredentialSource {
 public:
  // nullopt: none, so that requests are not signed.
  explicit FixedCredentials(std::optional<Credentials> credentials) : credentials_(std::move(credentials)) {}

  Result<const Credentials*> get() override { return credentials_ ? &*credentials_ : nullptr; }
  bool renew() override { return false; }

 private:
  const std::optional<Credentials> credentials_;
};

// Those of the environment, of a role by web identity, of the files in ~/.aws, of a container, or of the machine, in
// this order. Keys that expire are replaced five minutes before.
class AwsCredentials final : public CredentialSource {
 public:
  AwsCredentials(Environment environment, SendOnce send);

  Result<const Credentials*> get() override;
  bool renew() override;

 private:
  using Time = std::chrono::system_clock::time_point;

  // Looks for keys. Returns nullopt if there are none.
  Result<std::optional<Credentials>> find() const;

  const Environment environment_;
  const SendOnce send_;
  std::optional<Credentials> current_;
  bool has_looked_ = false;
  Time next_look_{};     // not before, while the keys are valid
  Time next_renewal_{};  // not before
};

}  // namespace recordfs::fetch
