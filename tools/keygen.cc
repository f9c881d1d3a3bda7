#include <memory>

#include <fmt/core.h>

#include "collector/security/key_folder.h"
#include "sender/undelivered.h"
#include "tools/command.h"

namespace sideband::tools {
namespace {

struct Flags {
  std::filesystem::path data_dir, out;
  std::string name, remove, role = "write";
};

void say_how_to_reload(const Flags& flags) {
  const std::string lock = sender::quote_for_shell((flags.data_dir / "lock").string());
  print_error("a running collector takes the change with: kill -HUP $(cat " + lock + ")");
}

Result<void> make_key(const collector::KeyFolder& folder, const Flags& flags) {
  const auto role = collector::parse_role(flags.role);
  if (!role) return fail(ErrorCode::kInvalidArgument, "--role: expected write, read or both, found " + flags.role);
  const auto secret = folder.add_key(flags.name, *role);
  if (!secret) return tl::unexpected(secret.error());
  const auto address = folder.read_address();
  const std::string control = folder.connect_line(address.control, *secret);
  const std::string tap = folder.connect_line(address.tap, *secret);
  if (!flags.out.empty()) {
    if (auto written = collector::replace_file(flags.out, (collector::may_write(*role) ? control : tap) + "\n");
        !written)
      return written;
    say_how_to_reload(flags);
    return {};
  }
  if (collector::may_write(*role)) fmt::print("export SIDEBAND_COLLECTOR='{}'\n", control);
  if (collector::may_read(*role)) fmt::print("export SIDEBAND_TAP='{}'\n", tap);
  say_how_to_reload(flags);
  return {};
}

Result<void> run(const Flags& flags) {
  const auto folder = collector::KeyFolder::open(flags.data_dir);
  if (!folder) return tl::unexpected(folder.error());
  if (flags.remove.empty()) return make_key(*folder, flags);
  if (auto removed = folder->remove_key(flags.remove); !removed) return removed;
  say_how_to_reload(flags);
  return {};
}

int keygen(const Flags& flags) {
  const auto done = run(flags);
  if (done) return kExitOk;
  print_error(done.error().message);
  return kExitFailed;
}

}  // namespace

void add_keygen(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("keygen", "Make or remove a key that a collector lets in");
  add_data_dir(*command, flags->data_dir);
  auto* name = command->add_option("--name", flags->name, "What the key is called, also as the owner of runs")
                   ->type_name("NAME");
  auto* role = command->add_option("--role", flags->role, "write: senders; read: the tap; both")
                   ->type_name("ROLE")
                   ->capture_default_str();
  auto* out = command
                  ->add_option("--out", flags->out,
                               "Write the line to this file, mode 0600, for SIDEBAND_COLLECTOR_FILE, and print nothing")
                  ->type_name("FILE");
  auto* remove =
      command->add_option("--remove", flags->remove, "Remove the key with this name instead")->type_name("NAME");
  remove->excludes(name)->excludes(role)->excludes(out);
  command->footer(
      "The secret stands in the line that is printed and nowhere else. The list of keys is DIR/keys/authorized.\n"
      "Examples: eval \"$(sideband keygen --name alice)\"\n"
      "          sideband keygen --name lab --out lab.key; sideband keygen --remove alice");
  command->callback([flags, exit_code, name, remove] {
    if (name->count() + remove->count() == 0) throw CLI::RequiredError("--name or --remove");
    *exit_code = keygen(*flags);
  });
}

}  // namespace sideband::tools
