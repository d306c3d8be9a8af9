#pragma once
// The steps of stream capture that the entry points use.
#include "softgpu/driver/graph.h"

namespace cotenant::soft {

struct Stream;

CUresult begin_capture(Driver& d, Stream& stream, CUstreamCaptureMode mode, Graph* into, std::vector<Node*> after);
CUresult end_capture(Driver& d, Stream& stream, Graph** out);
// Destroying a stream's handle breaks the capture that it takes part in.
void leave_capture(Driver& d, Stream& stream);
void join_nodes(Stream& stream, const std::vector<Node*>& nodes);
// True: the legacy stream would have to wait for a blocking stream that is captured. Those captures break.
bool blocked_by_capture(Driver& d, const Stream& legacy);

}  // namespace cotenant::soft
