"""`python -m clarray doctor`: what is wrong with this machine's OpenCL, and the line that mends it."""
