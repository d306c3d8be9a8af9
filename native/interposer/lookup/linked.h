// Functions of the driver that programs reach by linking with it, without a lookup that is seen.
#pragma once

namespace cotenant {

// Looks through the objects that are linked with the driver and were loaded since the last poll. If one refers to a function of
// the driver that is not known, that function may do anything from now on (unhooked.h): its calls are not seen. Called when a
// context was made, so that the driver is loaded, and on the application's threads, because the loader's lock is taken.
void look_for_linked_functions() noexcept;

}  // namespace cotenant
