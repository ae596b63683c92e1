#include "core/python/process.h"

#include <unistd.h>

namespace recordfs::python {
bool is_main_interpreter() { return PyInterpreterState_Get() == PyInterpreterState_Main(); }

// PyGILState_Check() returns true on every thread once the process has had a second interpreter.
bool has_gil() {
#if PY_VERSION_HEX >= 0x030D0000
  PyThreadState* const holder = PyThreadState_GetUnchecked();
#else
  PyThreadState* const holder = _PyThreadState_UncheckedGet();
#endif
  return holder != nullptr && holder == PyGILState_GetThisThreadState();
}

void sleep_until_exit() {
  for (;;) ::pause();
}

}  // namespace recordfs::python
