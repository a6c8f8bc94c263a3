#pragma once
#include <optional>
#include <string>

namespace reprise::device {

/// Keeps the machine code that a device's driver makes of a kernel's text, for later processes: assembling it takes the
/// driver milliseconds for each kernel. Threads: any. Neither throws; what cannot be kept is as if it were not there.
class MachineCodeStore {
 public:
  virtual ~MachineCodeStore() = default;
  virtual std::optional<std::string> find(const std::string& key) noexcept = 0;
  virtual void keep(const std::string& key, const std::string& code) noexcept = 0;
};

/// Of the process; null: nothing is kept. The one who sets it keeps it alive until it is replaced. Gives the one
/// before.
MachineCodeStore* exchange_machine_code_store(MachineCodeStore*) noexcept;
MachineCodeStore* machine_code_store() noexcept;
/// Sets it if none has been set yet.
void offer_machine_code_store(MachineCodeStore*) noexcept;

}  // namespace reprise::device
