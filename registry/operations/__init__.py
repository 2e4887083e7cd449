"""Operations: one view of everything that continues after its request was answered."""
