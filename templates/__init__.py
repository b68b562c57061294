"""The OpenCL templates, shipped as clarray.templates."""
