"""Linear and integer programs: HiGHS, the complete integer program, price and cut."""
