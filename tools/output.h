// Standard output for programs that print much: buffered, and quiet when the reader goes away (`sideband dump | head`).
//
// Owned by one thread. SIGPIPE is ignored from the first Output on; a reader that left makes closed() true, any other
// failure makes failed() true, and what is written afterwards is dropped.
#pragma once

#include <string>
#include <string_view>

namespace sideband::tools {

class Output {
 public:
  Output();
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // Buffers; writes out whenever 64 KiB have gathered.
  void write(std::string_view text);
  void flush();

  // Nobody reads any more, or nothing can be written: stop working.
  [[nodiscard]] bool done() const { return closed_ || failed_; }
  // Flushes. Exit status: `status`, or kExitFailed after saying so when the output could not be written.
  [[nodiscard]] int finish(int status);

 private:
  std::string buffer_;
  bool closed_ = false;
  bool failed_ = false;
  int error_number_ = 0;
};

// True once SIGINT or SIGTERM came; the first call installs the handlers. System calls return EINTR from then on.
[[nodiscard]] bool stop_requested();

}  // namespace sideband::tools
