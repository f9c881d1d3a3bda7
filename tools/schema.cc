#include "tools/schema.h"

#include <memory>

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/util/json_util.h>

#include "proto/sideband.pb.h"
#include "tools/command.h"
#include "tools/output.h"

namespace sideband::tools {
namespace {

google::protobuf::FileDescriptorSet descriptor_set() {
  google::protobuf::FileDescriptorSet set;
  const auto* file = v1::File::descriptor()->file();
  file->CopyTo(set.add_file());
  file->CopyJsonNameTo(set.mutable_file(0));
  return set;
}

std::string descriptor_json() {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.add_whitespace = true;
  std::string json;
  // Fails only for Any fields of unknown types, which a descriptor has not.
  (void)google::protobuf::util::MessageToJsonString(descriptor_set(), &json, options);
  return json;
}

}  // namespace

void add_schema(CLI::App& app, int* exit_code) {
  struct Flags {
    bool proto = false, descriptor = false, json = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("schema", "Print the schema of all messages");
  auto* proto = command->add_flag("--proto", flags->proto, "The .proto file, comments included (the default)");
  auto* descriptor =
      command->add_flag("--descriptor", flags->descriptor,
                        "A binary google.protobuf.FileDescriptorSet, for programs that build messages at run time");
  auto* json = command->add_flag("--json", flags->json, "The same descriptor set as JSON");
  proto->excludes(descriptor)->excludes(json);
  descriptor->excludes(json);
  command->footer("Example: sideband schema > sideband.proto && protoc --python_out=. sideband.proto");
  command->callback([flags, exit_code] {
    Output out;
    if (flags->descriptor) {
      out.write(descriptor_set().SerializeAsString());
    } else if (flags->json) {
      out.write(descriptor_json());
    } else {
      out.write(schema_text());
    }
    *exit_code = out.finish(kExitOk);
  });
}

}  // namespace sideband::tools
