"""Devices, programs, memory and launches: alone imports pyopencl."""
