"""From expressions to OpenCL C."""
