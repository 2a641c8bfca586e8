// SPDX-License-Identifier: Apache-2.0
// step_c.h on the host.
#include <halfstep/halfstep.hpp>

static halfstep::host_backend backend_on(void*) { return {}; }

#include "step_c.hpp"
