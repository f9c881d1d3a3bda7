// Does a LOG give names to numbers? Looks into compressed batches.
#pragma once

#include "collector/query/log_decoder.h"
#include "collector/store/payload_fields.h"

namespace sideband::collector {

// Owned by one thread; keeps its buffers from one frame to the next.
class DefinitionsCheck {
 public:
  [[nodiscard]] bool has_definitions(const PayloadFields& fields, frame::Bytes payload) {
    if (fields.has_definitions || !fields.has_batch) return fields.has_definitions;
    if (!decode_log(payload, log_)) return false;
    return log_.keys_size() > 0 || log_.tables_size() > 0 || log_.metric_definitions_size() > 0;
  }

 private:
  v1::Log log_;
};

}  // namespace sideband::collector
