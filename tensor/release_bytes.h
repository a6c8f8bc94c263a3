#pragma once

namespace reprise {

struct Storage;
/// Of one that nobody will use: its bytes go before it does. Who lets others see it after that sets `any_released`.
void release_bytes(Storage&) noexcept;

}  // namespace reprise
