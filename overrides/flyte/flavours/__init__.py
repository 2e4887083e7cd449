"""Events of Flyte's engine as FlyteAdmin publishes them: CloudEvents of two versions, and plain messages."""
