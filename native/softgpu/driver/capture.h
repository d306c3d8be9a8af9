#pragma once
// The steps of stream capture that entry points are made of.
#include "softgpu/driver/graph.h"

namespace cotenant::soft {

struct Stream;

CUresult begin_capture(Driver& d, Stream& stream, CUstreamCaptureMode mode, Graph* into, std::vector<Node*> after);
CUresult end_capture(Driver& d, Stream& stream, Graph** out);
// A stream whose handle goes breaks the capture it takes part in.
void leave_capture(Driver& d, Stream& stream);
void join_nodes(Stream& stream, const std::vector<Node*>& nodes);
// Work on the legacy stream would make it depend on a capturing blocking stream: true, and those captures break.
bool blocked_by_capture(Driver& d, const Stream& legacy);

}  // namespace cotenant::soft
