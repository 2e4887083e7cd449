"""Events that Flyte's engine sends to FlyteAdmin, recorded here or passed on to FlyteAdmin first."""
