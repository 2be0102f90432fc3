"""What starts and what does not: queue, sweeps, limits, the circuit breaker, what is launched now."""
