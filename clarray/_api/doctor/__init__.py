"""`python -m clarray doctor`: diagnose this machine's OpenCL installation, and print the command that repairs it."""
