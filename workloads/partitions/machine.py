"""The GPU as two SM partitions, and whole."""

import green
import torch


class Machine:
    """The two partitions and, as 2 and 3, two streams on all SMs."""

    def __init__(self, small):
        torch.backends.cudnn.benchmark = False
        torch.backends.cudnn.deterministic = True
        torch.zeros(1, device="cuda")
        self.driver = green.Driver()
        self.partitions = green.split(self.driver, 0, small)
        self.names = [one.name for one in self.partitions]
        self.sms = [one.sms for one in self.partitions]
        self.streams = [torch.cuda.ExternalStream(one.stream) for one in self.partitions]
        self.streams += [torch.cuda.Stream(), torch.cuda.Stream()]
        self.control = torch.cuda.Stream()
        self.kernels = green.Kernels(self.driver)

    def sms_seen(self):
        """Per stream, on how many SMs blocks ran: launched, and in a captured graph; and how many two share."""
        blocks = 16 * 132
        found = {}
        for how in ("launched", "captured"):
            seen = []
            for stream in self.streams[:3]:
                out = torch.zeros(blocks, dtype=torch.int32, device="cuda")
                torch.cuda.synchronize()
                with torch.cuda.stream(stream):
                    if how == "launched":
                        self.kernels.sm_of_blocks(stream.cuda_stream, out.data_ptr(), blocks, 20_000)
                    else:
                        graph = torch.cuda.CUDAGraph()
                        graph.capture_begin(capture_error_mode="thread_local")
                        self.kernels.sm_of_blocks(stream.cuda_stream, out.data_ptr(), blocks, 20_000)
                        graph.capture_end()
                        graph.replay()
                torch.cuda.synchronize()
                seen.append(set(out.tolist()))
            found[how] = {"sms": [len(one) for one in seen], "shared": len(seen[0] & seen[1])}
        return found
