// Text lines, settings, tags, summary values and rewinds: from their record in a ring to their field of a LOG.
#pragma once

#include <cstdint>
#include <string>

#include "sender/record.h"
#include "sender/wire_fields.h"

namespace sideband::sender {

// Which repeated field of Log a record of this kind goes to.
[[nodiscard]] LogField item_field(RecordKind kind);

// Appends one element of that field, tag and length included. `record` is followed by its body.
void append_item(std::string& out, const RecordHeader& record, std::int64_t time_us);

}  // namespace sideband::sender
