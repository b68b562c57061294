"""What every launch stands on: the kernels made so far, and the policies in force, per device."""
