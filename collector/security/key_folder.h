// The keys of a data folder. Made at the first start; everything is 0600 in a folder that is 0700.
//
//   keys/server.key    secret of the collector: senders are given its public half
//   keys/sender.key    secret of the key "sender", which may write
//   keys/reader.key    secret of the key "reader", which may read the tap
//   keys/authorized    who may connect: security/allow_list.h
//   keys/address       where the running or last collector is reached: control, then tap
//
// A file is replaced as a whole; two programs that change `authorized` at once may lose one of the changes.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "collector/security/allow_list.h"

namespace sideband::collector {

struct CollectorAddress {
  std::string control = "tcp://127.0.0.1:5123";
  std::string tap = "tcp://127.0.0.1:5126";
};

class KeyFolder {
 public:
  // Makes what is missing: the server's key, and with `authorized` the keys "sender" and "reader".
  [[nodiscard]] static Result<KeyFolder> open(const std::filesystem::path& data_dir);

  [[nodiscard]] const CurveKey& server_secret() const { return server_secret_; }
  [[nodiscard]] const CurveKey& server_public() const { return server_public_; }
  // What a sender or a reader is given; without a key when its file was removed.
  [[nodiscard]] std::string connect_line(const std::string& endpoint, std::string_view key_name) const;
  [[nodiscard]] std::string connect_line(const std::string& endpoint, const CurveKey& client_secret) const;

  [[nodiscard]] Result<AllowList> read_allowed() const;
  // Makes a key and allows it. kAlreadyExists: the name is taken. Its secret is kept nowhere else.
  [[nodiscard]] Result<CurveKey> add_key(const std::string& name, Role role) const;
  // kNotFound: no such key.
  [[nodiscard]] Result<void> remove_key(const std::string& name) const;

  [[nodiscard]] Result<void> write_address(const CollectorAddress& address) const;
  [[nodiscard]] CollectorAddress read_address() const;  // the defaults when it is not known

  [[nodiscard]] std::filesystem::path authorized_path() const { return path_ / "authorized"; }

 private:
  explicit KeyFolder(std::filesystem::path path) : path_(std::move(path)) {}
  [[nodiscard]] Result<void> make_default_keys() const;

  std::filesystem::path path_;
  CurveKey server_secret_{}, server_public_{};
};

// Under another name first, mode 0600, synced: a crash leaves the old text or the new one.
[[nodiscard]] Result<void> replace_file(const std::filesystem::path& path, std::string_view text);

}  // namespace sideband::collector
